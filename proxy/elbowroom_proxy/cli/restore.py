"""`elbowroom budgets rebuild`: what the present periods have spent, restored from the records of requests.

Knows: in which order the ledger and the records are read so that nothing is counted twice, and what records cannot say.
Does not know: what a record says it was charged (`account.charged`), or how sums are kept.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from elbowroom.account.charged import Added, charge
from elbowroom.account.row import Row
from elbowroom.account.search import Filters, Indexed
from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Account
from elbowroom.budget.sums import Sums
from elbowroom_proxy import desk, tally
from elbowroom_proxy.cli import reading, till
from elbowroom_proxy.cli.who import PERIODS, usd
from elbowroom_proxy.settings import Settings

HOUR = 3_600_000  # ms: a request may have come before its period and been held within it


class Part(Struct, frozen=True):
    """Some levels of one organisation, and what the ledger said of them."""

    account: Account
    sums: tuple[Sums, ...]


class Found(Struct):
    """What the records say."""

    added: Added
    indexed: Indexed
    oldest: Row | None = None  # that was read
    unread: int = 0


def rebuild(args: Namespace, configured: Settings) -> int:
    """0: done, or nothing to do. 1: there is nothing to restore from, or to."""
    directory = configured.directory
    names = [name for name in directory.orgs.orgs if args.org in (None, name)]
    if not names:
        print("There is no such organisation." if args.org else "There are no organisations.", file=sys.stderr)
        return 1
    # The ledger first: what is settled from now on is there already, whatever the records say of it.
    parts = asyncio.run(_parts(configured, names))
    with reading.opened(args) as read:
        found = asyncio.run(_records(read, parts, args.org))
    restored = found.added.restored(lower=args.lower)
    for level, spent, says in zip(found.added.levels, restored, found.added.spent, strict=True):
        print(_line(level, spent, says))
    for note in _unknown(found, configured):
        print(note)
    if args.dry_run:
        print("Nothing was changed.")
        return 0
    with reading.recorded(configured.general) as keep:
        asyncio.run(_written(configured, parts, restored))
        changed = sum(one != level.spent for one, level in zip(restored, found.added.levels, strict=True))
        sought = {"org": args.org} if args.org else {}
        keep(desk.reading("rebuild", reading.shell(), datetime.now(UTC).timestamp(), found=changed, sought=sought))
    print(f"{changed} of {len(restored)} levels were changed.")
    return 0


async def _parts(configured: Settings, names: Sequence[str]) -> list[Part]:
    async with till.opened(configured) as ledger:
        accounts = [one for name in names for one in tally.accounts(configured.directory, name)]
        return [Part(one, await ledger.sums(one)) for one in accounts]


async def _records(read: reading.Reading, parts: Sequence[Part], org: str | None) -> Found:
    levels = [one for part in parts for one in part.sums]
    since = min(one.start for one in levels) * 1000 - HOUR
    added = Added(levels)
    found = Found(added, await read.desk.reach(read.reader))
    async for shown in read.desk.export(Filters(org=org, since=since), read.reader):
        found.oldest = shown.row
        try:
            one = charge(shown.record)
        except ValueError:
            found.unread += 1
            continue
        if one is not None:
            added.add((one,))
    return found


async def _written(configured: Settings, parts: Sequence[Part], restored: Sequence[Amounts]) -> None:
    left = iter(restored)
    async with till.opened(configured) as ledger:
        for part in parts:
            await ledger.rebuild(part.account, [next(left) for _ in part.sums], part.sums)


def _line(level: Sums, spent: Amounts, says: Amounts) -> str:
    entity, before = level.entity, level.spent
    name = f"{entity.kind} {entity.name}, {PERIODS[entity.limits.period]}"
    if spent == before:
        less = " (the records say less)" if says != before else ""
        return f"{name}: {_amounts(before)} spent, as it is{less}"
    return f"{name}: {_amounts(before)} spent becomes {_amounts(spent)}"


def _amounts(one: Amounts) -> str:
    return f"{one.tokens:,} tokens and {usd(one.micro_usd)} USD"


def _unknown(found: Found, configured: Settings) -> Iterator[str]:
    """What the records do not say, as far as that is known."""
    began = min(one.start for one in found.added.levels)
    yield f"From {found.added.charges:,} charged requests; {reading.reach(found.indexed)}."
    if found.oldest is not None and found.oldest.at > began * 1000:
        first = datetime.fromtimestamp(began, UTC)
        yield f"The oldest is of {found.oldest.time}, the longest period began {first:%Y-%m-%dT%H:%M:%SZ}."
    share = configured.traces.sample
    if share < 1:
        yield f"traces.sample is {share:g}: of requests that ended well only that share is recorded, so sums are short."
    if found.added.unsaid:
        yield f"Calls beside answers that failed: {found.added.unsaid:,}; what they were charged is in no record."
    if found.unread:
        yield f"Records of a shape that is not known: {found.unread:,}."
    yield (
        "Not in any record: requests whose process died before their end, and records that were lost "
        "(elbowroom_traces_lost_total, elbowroom_traces_unwritten_total)."
    )
