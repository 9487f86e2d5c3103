"""`elbowroom demo-day`: a day of traffic through a proxy of its own, and a folder of traces with incidents in it.

Knows: its options, which filter finds which incident, and what is said at the end.
Does not know: what happens on the day (`day.plan`), or how it is carried out (`day.walk`).
"""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from elbowroom.account.search import Filters, Named, Overview, Scope
from elbowroom_proxy.cli import render
from elbowroom_proxy.cli.day import plan, store
from elbowroom_proxy.cli.day.walk import Done, walk
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.settings import STATE

REQUESTS = 240
MOST = 5000
# What is to be found: in words, and the filter that finds it.
INCIDENTS = {
    "stale": (
        "an answer that cites a policy which no longer holds",
        "--team support --since {0}T15:30 --until {0}T16:00",
    ),
    "foreign": ("one tenant's key tries another's documents", "--reason not_permitted"),
    "invented": ("an answer cites what nobody gave out", "--invented"),
    "result": ("a tool's result made the answer pay money to somewhere else", "--tainted"),
}


def arguments(parser: ArgumentParser) -> None:
    """Adds the options."""
    parser.add_argument("--out", type=Path, default=STATE / "day", metavar="DIR", help="default: %(default)s")
    parser.add_argument("--date", type=_date, metavar="YYYY-MM-DD", help="which day it is, UTC; without it yesterday")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one is another day (default: 1)")
    parser.add_argument(
        "--requests", type=_some, default=REQUESTS, metavar="N", help="about so many, and the incidents (default: 240)"
    )


def run(args: Namespace) -> int:
    """0: the day is in the folder. Raises `InvalidConfig` where something else is."""
    date = args.date or dt.datetime.now(tz=dt.UTC).date() - dt.timedelta(days=1)
    keys = store.make(args.out)
    day = plan.day(date, args.seed, args.requests)
    done = walk(args.out, day, keys)
    for line in told(args.out, date, done, keys["reviewer"]):
        print(line)
    return 0


def told(out: Path, date: dt.date, done: Sequence[Done], key: str) -> Iterator[str]:
    """What is in the store, and how to look at it."""
    traces = out / "traces"
    index = SqliteIndex(traces)
    try:
        Crawl(index).finish()
        view = index.overview(Filters(), Scope())
        proposed = index.count(Filters(kind="shadow"), Scope())
    finally:
        index.close()
    yield from _figures(traces, date, view, proposed)
    config = f"--config {out / store.FILE}"
    yield ""
    yield "Four incidents are to be found; each command lists one:"
    for name, (words, filters) in INCIDENTS.items():
        ids = [one.trace_id for one in done if one.ask.incident == name]
        yield f"- {words} ({len(ids)}, the first is {ids[0]})"
        yield f"  elbowroom traces list {config} {filters.format(date)}"
    yield ""
    yield f"One record:     elbowroom traces show ID {config}"
    yield f"All are there:  elbowroom traces verify {config}"
    yield f"In a browser:   elbowroom serve {config}"
    yield f"                then http://127.0.0.1:8080/ui with the key {key}"
    yield "How to go about it: docs/incident-review.md"


def _figures(traces: Path, date: dt.date, view: Overview, proposed: int) -> Iterator[str]:
    yield render.line("store", str(traces))
    yield render.line(
        "requests",
        f"{view.requests} on {date}, {view.requests - view.failed} answered, {view.failed} refused or failed, "
        f"{view.disconnected} left half-way",
    )
    spent = [f"{one.org} {one.requests} ({one.micro_usd / 1e6:.2f} USD)" for one in view.orgs if one.org]
    yield render.line("orgs", ", ".join(spent))
    for name in ("classes", "modes", "reasons", "codes"):
        yield render.line(name, _named(getattr(view, name)))
    yield render.line("shadow", f"{proposed} proposals")


def _named(some: Sequence[Named]) -> str:
    return ", ".join(f"{one.name} {one.n}" for one in some) or "none"


def _date(word: str) -> dt.date:
    try:
        return dt.date.fromisoformat(word)
    except ValueError:
        raise ArgumentTypeError("must be a day such as 2026-11-02") from None


def _some(word: str) -> int:
    if not (word.isdecimal() and 1 <= int(word) <= MOST):
        raise ArgumentTypeError(f"must be a number of requests, 1 to {MOST}")
    return int(word)
