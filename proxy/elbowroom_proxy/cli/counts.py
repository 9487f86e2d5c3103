"""`elbowroom counts audit`: how far counts were from bills, for each model and shape of request.

Knows: where differences are kept (Redis where one is configured, else the traces), and the columns of the table.
Does not know: how a difference comes about, or what a running proxy makes of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from elbowroom_proxy import settings
from elbowroom_proxy.calibration import LAST, REFUSED, Calibration, Row
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.sinks import read
from elbowroom_proxy.stores.redis import RedisCounts

COLUMNS = "{:<24} {:<20} {:<28} {:<10} {:>5} {:>6} {:>12} {:>11}"
PATIENCE = 5.0  # seconds for Redis to answer a person


def arguments(parser: ArgumentParser) -> None:
    """Adds the command and its options."""
    commands = parser.add_subparsers(required=True, metavar="audit")
    audit = commands.add_parser("audit", help=f"the last {LAST} bills of each model and shape against their counts")
    audit.add_argument("--config", type=Path, metavar="FILE", help="elbowroom.yaml; without it the built-in one")
    audit.add_argument("--traces", type=Path, metavar="FOLDER", help="from these traces instead")
    audit.add_argument("--json", action="store_true", help="one object a line")


def run(args: Namespace) -> int:
    """0: printed. 1: the configured Redis cannot be reached."""
    general = settings.load(args.config).general
    if args.traces is None and general.redis_url is not None:
        rows = asyncio.run(_shared(general.redis_url))
        if rows is None:
            print("the configured Redis cannot be reached", file=sys.stderr)
            return 1
    else:
        rows = list(traced(args.traces or Path(general.traces)))
    for line in map(_json, rows) if args.json else table(rows):
        print(line)
    return 0


def table(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each upstream, model, shape and basis; errors are counted minus billed, as in `elbowroom count`."""
    yield COLUMNS.format("upstream", "model", "shape", "basis", "n", "exact", "worst under", "worst over")
    for row in rows:
        above = [-difference for difference in row.differences]
        exact = "-" if row.basis == REFUSED else above.count(0)
        names = map(printable, (row.upstream, row.model, row.shape, row.basis))
        yield COLUMNS.format(*names, len(above), exact, min([0, *above]), max([0, *above]))


def traced(folder: Path) -> Iterator[Row]:
    """What the latest traces of each model and shape say."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for story in read.newest_first(folder):
        if story.get("count_error") is None:
            continue
        upstream = f"{story['upstream']}/{story['upstream_model']}"
        key = (upstream, story["model"], story.get("shape") or "-", story["counted"]["basis"])
        if len(differences := found.setdefault(key, [])) < LAST:
            differences.append(story["count_error"])
    for key in sorted(found):
        yield Row(*key, differences=tuple(found[key]))


async def _shared(url: str) -> list[Row] | None:
    store = RedisCounts(url, timeout=PATIENCE)
    try:
        if not await store.healthy():
            return None
        calibration = Calibration(store)
        await calibration.start()
        return list(calibration.rows())
    finally:
        await store.close()


def _json(row: Row) -> str:
    told = {"upstream": row.upstream, "model": row.model, "shape": row.shape, "basis": row.basis}
    return json.dumps({**told, "billed_minus_counted": list(row.differences)}, ensure_ascii=False)
