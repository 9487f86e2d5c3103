"""`elbowroom traces`: records listed, shown, exported and indexed.

Knows: the commands, the columns of a list, and that a spreadsheet must not take an id for a formula.
Does not know: how a record is found (`desk`), what it looks like in lines (`questions`, `render`), or how a folder is
proved (`proving`).
"""

from __future__ import annotations

import asyncio
import csv
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from elbowroom.account.row import Row
from elbowroom.errors import ElbowroomError
from elbowroom_proxy.cli import keeping, proving, questions, reading, render
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.desk import MOST
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.sinks import beside

COLUMNS = {
    "time": 23, "trace": 32, "tenant": 12, "model": 16, "class": 15, "status": -6, "in": -5, "out": -5, "counted": -8,
    "billed": -8,
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def arguments(parser: ArgumentParser) -> None:
    """Adds the commands and their options."""
    commands = parser.add_subparsers(
        required=True, metavar="list | show | export | index | verify | hold | release | erase"
    )
    listed = commands.add_parser("list", help="the latest traces, one a line")
    listed.add_argument("-n", type=_some, default=20, metavar="N", help="how many at most (default: %(default)s)")
    listed.add_argument("--after", metavar="WORD", help="goes on where the list before ended, which said this word")
    listed.add_argument("--json", action="store_true", help="a JSON object a line")
    listed.set_defaults(do=_list)
    shown = commands.add_parser("show", help="one trace")
    shown.add_argument("id", help="its id, or the x-request-id or x-client-request-id of its request")
    shown.add_argument("--json", action="store_true", help="the record, in one line of JSON")
    shown.set_defaults(do=_show)
    exported = commands.add_parser("export", help="whole traces, to standard output")
    exported.add_argument("--format", choices=("jsonl", "csv"), default="jsonl", help="csv has the list's columns only")
    exported.set_defaults(do=_export)
    indexed = commands.add_parser("index", help="brings the index up to date, or makes it anew")
    indexed.add_argument(
        "folders", nargs="*", type=Path, metavar="DIR", help="also of other instances; the first has it"
    )
    indexed.add_argument("--rebuild", action="store_true", help="forgets what is indexed, and reads all files")
    indexed.set_defaults(do=_index)
    verified = commands.add_parser("verify", help="proves that nothing was changed, removed or moved")
    proving.arguments(verified)
    verified.set_defaults(do=proving.run)
    for command in (listed, shown, exported, indexed, verified, *keeping.arguments(commands)):
        reading.arguments(command)
    for command in (listed, exported):
        reading.filters(command)


def run(args: Namespace) -> int:
    """0: done. 1: there is no such trace, or records cannot be read."""
    try:
        status: int = args.do(args)
    except (ElbowroomError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        return reading.refused(error)
    return status


def _list(args: Namespace) -> int:
    wanted = reading.wanted(args)
    with reading.opened(args) as read:
        page = asyncio.run(read.desk.list(wanted, read.reader, after=args.after, most=args.n))
    if args.json:
        for row in page.rows:
            print(json.dumps(msgspec.to_builtins(row)))
    else:
        print(_columns(COLUMNS, "what stands out"))
        for row in page.rows:
            print(_line(row))
    print(reading.reach(page.indexed), file=sys.stderr)
    if page.after is not None:
        print(f"there are more: --after {page.after}", file=sys.stderr)
    return 0


def _show(args: Namespace) -> int:
    with reading.opened(args) as read:
        shown = asyncio.run(read.desk.show(args.id, read.reader))
        # ASCII: nothing in a record may steer a terminal.
        print(json.dumps(shown.record) if args.json else "\n".join(_told(shown.record, read.index.folders())))
    return 0


def _told(record: Any, folders: Sequence[str]) -> Iterator[str]:
    def instruction(digest: str) -> str | None:
        return next((text for one in folders if (text := beside.instruction(Path(one), digest)) is not None), None)

    yield from render.head(record)
    yield ""
    yield from questions.answers(record, instruction)
    yield ""
    yield from render.decision(record)
    yield from render.aftermath(record)


def _export(args: Namespace) -> int:
    wanted = reading.wanted(args)
    table = csv.writer(sys.stdout, lineterminator="\n") if args.format == "csv" else None

    async def export(read: reading.Reading) -> None:
        if table is not None:
            table.writerow(Row.__struct_fields__)
        async for one in read.desk.export(wanted, read.reader):
            if table is None:
                print(json.dumps(one.record))
            else:
                table.writerow([_cell(getattr(one.row, name)) for name in Row.__struct_fields__])

    with reading.opened(args) as read:
        asyncio.run(export(read))
    return 0


def _index(args: Namespace) -> int:
    folders = [folder.absolute() for folder in args.folders]
    for folder in folders:
        if not folder.is_dir():
            print(f"{render.printable(folder)}: there is no such folder", file=sys.stderr)
            return 1
    args.folder = folders[0] if folders else args.folder
    with reading.opened(args) as read:
        index: SqliteIndex = read.index
        if folders:
            index.cover([str(folder) for folder in folders])
        crawl = Crawl(index)
        if args.rebuild and not crawl.again():
            print("another process is writing the index; try again", file=sys.stderr)
            return 1
        crawl.finish()
        print(reading.reach(asyncio.run(read.desk.reach(read.reader))))
    return 0


def _line(row: Row) -> str:
    cells = [
        row.time[:23],
        row.trace_id,
        row.tenant,
        row.model,
        row.query_class,
        row.status,
        row.admitted,
        row.documents - row.admitted,
        row.counted,
        row.billed,
    ]
    return _columns(("-" if cell is None else cell for cell in cells), ", ".join(_stands_out(row)))


def _columns(cells: Iterable[Any], rest: str) -> str:
    """Numbers to the right; an id longer than its column is cut, but never one that a trace is shown by."""
    padded = [
        f"{cell!s:>{-wide}}" if wide < 0 else render.pad(render.printable(cell), wide)
        for cell, wide in zip(cells, COLUMNS.values(), strict=True)
    ]
    return f"{' '.join(padded)}  {rest}".rstrip()


def _stands_out(row: Row) -> Iterator[str]:
    if row.read is not None:
        yield render.printable(f"{row.subject} read {row.read}")
    if row.code:
        yield render.printable(row.code)
    if row.disconnected:
        yield "client left"
    if row.invented:
        yield f"{row.invented} invented"
    if row.tainted:
        yield f"{row.tainted} tainted"
    if row.over_budget:
        yield "over budget"
    for reason, n in sorted(row.dropped.items()):
        yield f"{render.printable(reason)} {n}"


def _cell(value: Any) -> Any:
    """A value as a spreadsheet takes it for what it is."""
    if isinstance(value, dict):
        value = " ".join(f"{name}={n}" for name, n in sorted(value.items()))
    if not isinstance(value, str):
        return value
    text = render.printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _some(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and 1 <= int(word) <= MOST):
        raise ArgumentTypeError(f"must be a number, 1 to {MOST}")
    return int(word)
