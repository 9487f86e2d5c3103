"""`elbowroom dedupe`: what the gates for copies and versions say of each pair of texts of a file.

Knows: the lines, and the two numbers that matter where the lines bring labels: copies found, and texts with a changed
word that were merged all the same.
Does not know: what a copy is; the engine does, and the registry whose text stays.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from elbowroom.clean.text import Text, clean_line
from elbowroom.decide import gates
from elbowroom.decide.evidence import recipe_for
from elbowroom.decide.passage import Gate, Passage
from elbowroom.decide.rank import relevances
from elbowroom.decide.registered import registered
from elbowroom.decide.sift import sift
from elbowroom.errors import ElbowroomError
from elbowroom.read.documents import read_documents
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.records import Drop, Model
from elbowroom_proxy import settings
from elbowroom_proxy.cli import lines
from elbowroom_proxy.cli.render import clipped, printable

COLUMNS = "{:<28} {:<28} {:<10} {:<28} {}"
GROUPS = "{:<10} {:<18} {:<6} {:>6} {:>8} {:>9} {:>10}"
DUP, CONFLICT = "dup", "conflict"  # labels
ASKED = (Drop.SUPERSEDED, Drop.DUPLICATE)
_ANY = Model("any", "demo", "any", 1 << 20, 1 << 10, "openai_chat", "gpt-4o", "o200k_base")


class Compared(Struct, frozen=True):
    """One pair. `conflict`: another word in the same text; of the two the one that is right stays, if that is known."""

    a: str
    b: str
    says: str  # "dup", "conflict" or "different"
    merged: bool  # one of them was dropped as a copy
    stays: tuple[str, ...]
    detail: str


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument(
        "file",
        metavar="FILE.jsonl",
        help='{"a", "b", "a_text", "b_text"} a line: ids and texts; "a_version" and the like: more of a document',
    )
    parser.add_argument("--policy", type=Path, metavar="FILE", help="another policy, sources.yaml beside it")
    parser.add_argument("--json", action="store_true", help="an object a line")


def run(args: Namespace) -> int:
    """0: every line was a pair. 1: one was none, and was skipped. 2: there is nothing to read."""
    policy = settings.load().policy if args.policy is None else settings.load_policy(args.policy)

    def judge(row: lines.Row) -> Compared | str:
        try:
            return compare(row, policy)
        except ElbowroomError as error:
            return error.message

    if not args.json:
        print(COLUMNS.format("a", "b", "says", "stays", "why"))
    status, done = lines.judged(args.file, judge, lambda row, one: print(_json(row, one) if args.json else _line(one)))
    if not args.json and done:
        print("", *table(done), sep="\n")
    return status


def compare(row: Mapping[str, Any], policy: Policy) -> Compared:
    """What the policy's gates say of the two, `a` being first in the client's order. Raises `InvalidDocument`."""
    names = [str(row.get(side, side)) for side in ("a", "b")]
    if names[0] == names[1]:
        names = ["a", "b"]
    items = [
        {**{name[2:]: value for name, value in row.items() if name.startswith(f"{side}_")}, "id": name}
        for side, name in zip(("a", "b"), names, strict=True)
    ]
    documents = read_documents(items, len(items))
    passages = [
        Passage(document, Text.of(document.text or ""), clean_line(document.title or ""), relevance, rank, 0, 0)
        for document, (relevance, rank) in zip(documents, relevances(documents), strict=True)
    ]
    found = sift(registered(passages, policy.sources), _gates(policy))
    kept = tuple(sorted(one.document.id for one in found.kept))
    dropped = found.dropped[0] if found.dropped else None
    merged = dropped is not None and dropped.reason is Drop.DUPLICATE
    says = DUP if merged else CONFLICT if dropped or found.disputes else "different"
    detail = dropped.detail if dropped else "nothing says which one is right" if found.disputes else ""
    return Compared(names[0], names[1], says, merged, kept, detail)


def table(done: Sequence[tuple[Mapping[str, Any], Compared]]) -> Iterator[str]:
    """What was said of each kind; and how often it was wrong, where that can be told."""
    groups: dict[tuple[str, str, str], Counter[str]] = {}
    for row, one in done:
        group = (str(row.get("label", "-")), str(row.get("kind", "-")), str(row.get("lang", "-")))
        groups.setdefault(group, Counter())[one.says] += 1
    yield GROUPS.format("label", "kind", "lang", "n", "copies", "conflict", "different")
    for group, said in sorted(groups.items()):
        words = [printable(clipped(word, width)) for word, width in zip(group, (10, 18, 6), strict=True)]
        yield GROUPS.format(*words, said.total(), said[DUP], said[CONFLICT], said["different"])
    for label, told in ((DUP, "found"), (CONFLICT, "merged")):
        shares = [
            f"{language} {merged} of {n} ({100 * merged / n:.1f} %)" for language, merged, n in _merged(groups, label)
        ]
        if shares:
            yield f"{label}, {told}: {', '.join(shares)}"


def _merged(groups: Mapping[tuple[str, str, str], Counter[str]], label: str) -> Iterator[tuple[str, int, int]]:
    """(language, merged, all) of the pairs with that label."""
    for language in sorted({language for one, _, language in groups if one == label}):
        some = [said for (one, _, lang), said in groups.items() if (one, lang) == (label, language)]
        yield printable(language), sum(said[DUP] for said in some), sum(said.total() for said in some)


def _gates(policy: Policy) -> list[tuple[Drop, Gate]]:
    limits = recipe_for(policy, QueryClass("any"), _ANY).limits
    modules = [gates.load(name) for name in policy.gates]
    return [(module.REASON, module.build(limits)) for module in modules if module.REASON in ASKED]


def _json(row: Mapping[str, Any], one: Compared) -> str:
    given = {name: row[name] for name in ("label", "kind", "lang") if name in row}
    return msgspec.json.encode({**given, **structs.asdict(one)}).decode()


def _line(one: Compared) -> str:
    stays = "both" if len(one.stays) > 1 else one.stays[0]
    words = [printable(clipped(word, 28)) for word in (one.a, one.b, stays)]
    return COLUMNS.format(words[0], words[1], one.says, words[2], printable(one.detail)).rstrip()
