"""`elbowroom shadow report`: what enforcing would have changed, class by class.

Knows: the columns, and that a proposal is a record of its own which may be written a little before or after its
request's.
Does not know: what is compared (`account.shadow`), or how records are found (`desk`).
"""

from __future__ import annotations

import asyncio
import json
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from elbowroom.account.row import REQUEST, SHADOW
from elbowroom.account.search import Filters
from elbowroom.account.shadow import Compared, compare, together
from elbowroom.errors import ElbowroomError
from elbowroom.records import Mode
from elbowroom_proxy.cli import reading
from elbowroom_proxy.cli.render import line, pad, printable

BESIDE = 3_600_000  # ms between a request's record and its shadow's, at most
COLUMNS = {
    "class": 18, "requests": -9, "skipped": -8, "refused": -8, "baseline": -11, "proposed": -11, "saved": -7,
    "dropped": -8, "cited": -6, "kept": -6, "unjudged": -9, "overflow": -9, "avoided": -8,
}  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    """Adds the command and its options."""
    commands = parser.add_subparsers(required=True, metavar="report")
    report = commands.add_parser("report", help="requests in shadow beside what was proposed for them")
    reading.arguments(report)
    report.add_argument("--traces", dest="folder", type=Path, metavar="DIR", default=SUPPRESS, help="as --folder")
    reading.filters(report)
    report.add_argument("--json", action="store_true", help="one object")


def run(args: Namespace) -> int:
    """0: told. 1: records cannot be read."""
    try:
        with reading.opened(args) as read:
            rows = asyncio.run(_compared(read, reading.wanted(args)))
    except (ElbowroomError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return reading.refused(error)
    whole = together(rows)
    if args.json:
        value = {"classes": list(map(msgspec.to_builtins, rows)), "together": msgspec.to_builtins(whole)}
        print(json.dumps(value, ensure_ascii=False))
    else:
        print(*_lines(rows, whole), sep="\n")
    return 0


async def _compared(read: reading.Reading, wanted: Filters) -> list[Compared]:
    requests = structs.replace(wanted, kind=REQUEST, mode=Mode.SHADOW)
    # Of a proposal only whose it is and when it was made is sought: class, status and the like are its request's.
    shadows = Filters(
        kind=SHADOW,
        tenant=wanted.tenant,
        org=wanted.org,
        since=None if wanted.since is None else wanted.since - BESIDE,
        until=None if wanted.until is None else wanted.until + BESIDE,
    )
    proposals: dict[str, Mapping[str, Any]] = {}
    async for one in read.desk.export(shadows, read.reader):
        proposals[one.row.trace_id] = one.record
    found = [one.record async for one in read.desk.export(requests, read.reader)]
    return compare(found, proposals)


def _lines(rows: list[Compared], whole: Compared) -> Iterator[str]:
    if not rows:
        yield "no request was in shadow"
        return
    yield _cells(dict(zip(COLUMNS, COLUMNS, strict=True)))
    for row in [*rows, whole] if len(rows) > 1 else rows:
        yield _cells(_row(row))
    yield ""
    yield line("tokens", f"of whole prompts, where both were counted: {whole.counted} of {whole.requests} requests")
    evidence = f"{whole.baseline_evidence:,} -> {whole.proposed_evidence:,} tokens"
    yield line("evidence", evidence)
    drops = ", ".join(f"{n} {reason}" for reason, n in whole.drops.most_common()) or "nothing"
    yield line("dropped", drops)
    if whole.unjudged:
        yield line("unjudged", f"{whole.unjudged} requests whose answers cite nothing: what they used is not known")


def _row(row: Compared) -> dict[str, Any]:
    saved = 1 - row.proposed_tokens / row.baseline_tokens if row.baseline_tokens else None
    return {
        "class": row.name or "-",
        "requests": row.requests,
        "skipped": row.missing,
        "refused": row.refused,
        "baseline": f"{row.baseline_tokens:,}",
        "proposed": f"{row.proposed_tokens:,}",
        "saved": "-" if saved is None else f"{saved:.1%}",
        "dropped": row.drops.total(),
        "cited": row.cited,
        "kept": row.kept,
        "unjudged": row.unjudged,
        "overflow": row.overflowed,
        "avoided": row.avoided,
    }


def _cells(values: Mapping[str, Any]) -> str:
    told = [printable(values[name]) for name in COLUMNS]
    return " ".join(
        text.rjust(-cells) if cells < 0 else pad(text, cells)
        for text, cells in zip(told, COLUMNS.values(), strict=True)
    )
