"""`elbowroom traces verify`: whether a folder of records is what was written, told in lines.

Knows: where heads from outside may come from, and the words of a verdict.
Does not know: what is proved how (`sinks.verify`).
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from elbowroom.account.chain import Head, heads_in
from elbowroom_proxy import settings
from elbowroom_proxy.cli import reading, render
from elbowroom_proxy.sinks.verify import Verdict, verify


def arguments(parser: ArgumentParser) -> None:
    """Adds the options, but for where the records lie."""
    parser.add_argument(
        "--head",
        action="append",
        default=[],
        metavar="WORD|FILE",
        help="a signed head, or a file that has some, such as a log: proves that what it speaks for is still there",
    )
    parser.add_argument("--json", action="store_true", help="the verdict as JSON")


def run(args: Namespace) -> int:
    """0: all that is sealed is what was written. 1: it is not, or nobody here could say."""
    general = settings.load(args.config).general
    folder = args.folder or Path(general.traces)
    key = reading.chain_key(general)
    if not folder.is_dir() or key is None:
        missing = "there is no such folder" if key is not None else "the secret of these traces is not at hand"
        print(f"{render.printable(folder)}: {missing}", file=sys.stderr)
        return 1
    heads = [head for word in args.head for head in heads_in(key, _text(word))]
    if args.head and not heads:
        print("no head that was signed with this secret is in what --head says", file=sys.stderr)
        return 1
    verdict = verify(folder, key, heads)
    if args.json:
        print(json.dumps(msgspec.to_builtins(verdict)))
    else:
        print(*_verdict(verdict, heads), sep="\n")
    return 1 if verdict.findings else 0


def _text(word: str) -> str:
    """The word itself, or what the file of that name says."""
    return Path(word).read_text(encoding="utf-8", errors="replace") if Path(word).is_file() else word


def _verdict(verdict: Verdict, heads: Sequence[Head]) -> Iterator[str]:
    for finding in verdict.findings:
        yield f"{finding.kind:<11}{render.printable(finding.where)}: {render.printable(finding.says)}"
    parts = {
        "outside": f"{len(heads)} heads" if heads else "",
        "unsealed": f"{verdict.unsealed:,} lines behind the last signed head" if verdict.unsealed else "",
        "unchained": f"{verdict.unchained:,} lines from before there were chains" if verdict.unchained else "",
        "removed": f"{verdict.removed:,} lines of files that went by the rules" if verdict.removed else "",
        "torn": ", ".join(map(render.printable, verdict.torn)),
        "mended": f"{verdict.mended:,} half lines cut off" if verdict.mended else "",
        "erased": f"the texts of {verdict.erased:,} records" if verdict.erased else "",
        "unfinished": f"{verdict.unfinished:,} requests that were to leave, and no record tells how they ended"
        if verdict.unfinished
        else "",
    }
    if verdict.findings:
        words = f"this is NOT what was written: {verdict.sealed:,} lines were signed, and {verdict.lines:,} are there"
    else:
        words = f"{verdict.sealed:,} of {verdict.lines + verdict.removed:,} lines are what was written"
    yield render.line("proved", words)
    yield render.line(
        "read", f"{verdict.files:,} files of {verdict.writers:,} writers in {render.printable(verdict.folder)}"
    )
    for name, words in parts.items():
        if words:
            yield render.line(name, words)
