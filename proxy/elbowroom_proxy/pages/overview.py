"""The overview: all requests of a range as bars and a few numbers.

Knows: how values become bars of a chart, in percent of its width, and what an organisation has used of its limits.
Does not know: where the numbers come from, or how a chart is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from elbowroom.account.search import Hour, Named, Overview, Spent, Spread

COLUMNS, FEWEST = 48, 12  # of the chart of hours
HOUR = 3_600_000  # ms


class Line(Struct, frozen=True):
    """One bar that lies: `width` in percent of the longest."""

    name: str
    n: int
    width: float


class Column(Struct, frozen=True):
    """One bar that stands, all in percent of the chart; `failed` is the part of `height` that failed."""

    name: str
    n: int
    x: float
    width: float
    height: float
    failed: float = 0.0


class Use(Struct, frozen=True):
    """What one organisation took, beside what it may."""

    spent: Spent
    tokens: float | None  # percent of its limit; None: not limited
    money: float | None


def lines(named: Sequence[Named]) -> list[Line]:
    """A bar for each, the longest filling the chart."""
    most = max((one.n for one in named), default=0)
    return [Line(one.name, one.n, round(100 * one.n / most, 2) if most else 0.0) for one in named]


def hours(found: Sequence[Hour]) -> list[Column]:
    """The last hours, those without a request as gaps."""
    if not found:
        return []
    by_time = {one.at: one for one in found}
    last = max(by_time)
    first = min(max(min(by_time), last - (COLUMNS - 1) * HOUR), last - (FEWEST - 1) * HOUR)
    moments = range(first, last + 1, HOUR)
    most = max(one.requests for one in found)
    width = 100 / len(moments)
    columns = []
    for position, at in enumerate(moments):
        hour = by_time.get(at, Hour(at, 0, 0))
        name = f"{datetime.fromtimestamp(at / 1000, tz=UTC):%Y-%m-%d %H:%M}"
        columns.append(
            Column(
                name,
                hour.requests,
                round(position * width, 3),
                round(width * 0.86, 3),
                round(100 * hour.requests / most, 2),
                round(100 * hour.failed / most, 2),
            )
        )
    return columns


def histogram(spread: Spread) -> list[Column]:
    """A column for each of its buckets."""
    most = max((one.n for one in spread.buckets), default=0)
    if not most:
        return []
    width = 100 / len(spread.buckets)
    return [
        Column(
            _range(one.low, one.high),
            one.n,
            round(position * width, 3),
            round(width * 0.92, 3),
            round(100 * one.n / most, 2),
        )
        for position, one in enumerate(spread.buckets)
    ]


def uses(overview: Overview) -> list[Use]:
    """Each organisation, in the overview's order."""
    return [
        Use(
            one,
            _percent(one.prompt_tokens + one.completion_tokens, one.limits.tokens if one.limits else None),
            _percent(one.micro_usd, one.limits.micro_usd if one.limits else None),
        )
        for one in overview.orgs
    ]


def _percent(spent: int, most: int | None) -> float | None:
    if most is None:
        return None
    return round(100 * spent / most, 1) if most else (100.0 if spent else 0.0)


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:,.4g}"
    return f"{low:,.4g} and more" if high is None else f"{low:,.4g} to {high:,.4g}"
