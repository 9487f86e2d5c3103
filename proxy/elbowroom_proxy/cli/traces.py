"""`elbowroom traces`: the latest records, or one of them whole.

Knows: the folder, and the columns of a list.
Does not know: how a record is written or found (`sinks`), or what it looks like in lines (`render`).
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from itertools import islice
from pathlib import Path

from elbowroom_proxy.cli import render
from elbowroom_proxy.settings import STATE
from elbowroom_proxy.sinks import line, read

COLUMNS = "{:<23} {:<32} {:<16} {:<15} {:>6} {:>5} {:>5} {:>8} {:>8}"


def arguments(parser: ArgumentParser) -> None:
    """Adds the two commands and their options."""
    commands = parser.add_subparsers(required=True, metavar="list | show")
    listed = commands.add_parser("list", help="the latest traces, one a line")
    listed.add_argument("-n", type=int, default=20, metavar="N", help="how many at most (default: %(default)s)")
    listed.set_defaults(do=_list)
    shown = commands.add_parser("show", help="one trace")
    shown.add_argument("id", help="its id, or the x-request-id or x-client-request-id of its request")
    shown.add_argument("--json", action="store_true", help="the record as it is kept")
    shown.set_defaults(do=_show)
    for command in (listed, shown):
        command.add_argument("--folder", type=Path, default=STATE / "traces", help="default: %(default)s")


def run(args: Namespace) -> int:
    """0: shown. 1: there is no such trace."""
    status: int = args.do(args)
    return status


def _list(args: Namespace) -> int:
    print(COLUMNS.format("time", "trace", "model", "class", "status", "in", "out", "counted", "billed"))
    for story in islice(read.newest_first(args.folder), args.n):
        admitted = sum(one["decision"] == "admitted" for one in story["documents"])
        cells = [
            story["time"][:23],
            story["trace_id"],
            story["model"],
            story["query_class"],
            story["status"],
            admitted,
            len(story["documents"]) - admitted,
            story["counted"] and story["counted"]["tokens"],
            story["billed"] and story["billed"]["prompt_tokens"],
        ]
        print(COLUMNS.format(*("-" if cell is None else render.printable(cell) for cell in cells)))
    return 0


def _show(args: Namespace) -> int:
    story = read.find(args.folder, args.id)
    if story is None:
        print(f"no trace in {args.folder} has the id {render.printable(args.id)}", file=sys.stderr)
        return 1
    print(line.encode(story).decode() if args.json else render.record(story))
    return 0
