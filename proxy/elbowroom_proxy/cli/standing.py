"""What every level has spent and has left, as a table for a terminal.

Knows: the columns, that teams stand below their organisation and keys below their team, and that times are those of the
organisation's time zone.
Does not know: where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from elbowroom.budget.hold import Name
from elbowroom.budget.limits import Period
from elbowroom.budget.view import Budgets, Level, Limit, Org
from elbowroom_proxy.cli.render import pad, printable, width
from elbowroom_proxy.cli.who import PERIODS, usd

COLUMNS = ("", "limit", "of", "spent", "held", "left", "resets", "runs out")
LEFT = (0, 1)  # columns whose words stand to the left
_IN_A_PERIOD = ("max_tokens", "max_budget")
_INDENT = {"org": "", "team": "  ", "key": "    "}
Cells = tuple[str, ...]


def told(found: Budgets) -> Iterator[str]:
    """All of it, in lines."""
    if not found.orgs:
        yield "There are no organisations to show."
    for number, org in enumerate(found.orgs):
        if number:
            yield ""
        yield from _org(org, found.at)
    for fault in found.faults:
        yield ""
        yield f"The ledger is not well: {printable(fault)}"


def table(levels: Iterable[Level], timezone: str, at: int) -> Iterator[str]:
    """A line for each limit; where a level limits neither tokens nor money, one for what it spent."""
    zone = _zone(timezone)
    rows = [COLUMNS, *(row for level in levels for row in _rows(level, zone, at))]
    wide = [max(width(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        cells = (
            pad(cell, wide[column]) if column in LEFT else " " * (wide[column] - width(cell)) + cell
            for column, cell in enumerate(row)
        )
        yield "  ".join(cells).rstrip()


def amount(unit: str, number: int) -> str:
    """A number of that unit, money in USD."""
    return usd(number) if unit == "micro_usd" else f"{number:,}"


def named(limit: Name, period: Period) -> str:
    """What a limit counts."""
    return {
        "rpm_limit": "requests a minute",
        "tpm_limit": "tokens a minute",
        "max_parallel_requests": "requests at once",
        "max_tokens": f"tokens {PERIODS[period]}",
        "max_budget": f"USD {PERIODS[period]}",
    }[limit]


def moment(at: int, timezone: str) -> str:
    """A time of that zone, to the minute."""
    return _moment(at, _zone(timezone))


def _org(org: Org, at: int) -> Iterator[str]:
    yield f"{printable(org.name)}, times of {printable(org.timezone)}"
    levels = [one for one in (org.level, *(one for team in org.teams for one in (team.level, *team.keys))) if one]
    yield from table(levels, org.timezone, at)
    if org.top_keys:
        most = "; ".join(
            f"{printable(one.name)} {usd(one.micro_usd)} USD and {one.tokens:,} tokens in {PERIODS[one.period]}"
            for one in org.top_keys
        )
        yield f"The keys that spend the most: {most}"


def _rows(level: Level, zone: tzinfo, at: int) -> Iterator[Cells]:
    name = _INDENT[level.kind] + printable(level.name.rpartition("/")[2])
    for one in level.limits:
        yield (name, *_cells(one, level, zone, at))
        name = ""
        if one.unconfirmed:
            yield ("", "  of that unconfirmed", "", amount(one.unit, one.unconfirmed), "", "", "", "")
    if not any(one.limit in _IN_A_PERIOD for one in level.limits):
        spent, held = f"{level.spent.tokens:,}", f"{level.held.tokens:,}"
        yield (name, named("max_tokens", level.period), "no limit", spent, held, "", _moment(level.end, zone), "")


def _cells(one: Limit, level: Level, zone: tzinfo, at: int) -> Cells:
    if one.limit in _IN_A_PERIOD:
        resets = _moment(one.reset or level.end, zone)
    else:
        resets = "" if one.reset is None or one.reset <= at else f"in {one.reset - at} s"
    out = "" if one.runs_out is None else "now" if one.runs_out <= at else _moment(one.runs_out, zone)
    most, spent, held, left = (amount(one.unit, n) for n in (one.most, one.spent, one.held, one.remaining))
    return named(one.limit, level.period), most, spent, held, left, resets, out


def _moment(at: int, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M}"


def _zone(timezone: str) -> tzinfo:
    """UTC where this machine does not know the zone of the proxy that was asked."""
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
