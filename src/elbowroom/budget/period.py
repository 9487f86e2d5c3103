"""The calendar periods that sums belong to: hours, days and months of an organisation's time zone.

Knows: which period an instant lies in, where it begins and ends, also where clocks are put forward or back.
Does not know: what time it is, or which zones there are: both come in.

Periods of one kind follow each other without a gap. An hour begins where the wall clock shows a full one, so the hour
that is passed twice in autumn is two; a day and a month begin at their first midnight, or at the instant that it would
have been where that midnight is left out.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import NamedTuple

from elbowroom.budget.limits import Period

HOUR = 3600  # seconds
AROUND = 2  # periods on either side among which the one is sought: a clock may be put forward or back by a whole day


class Span(NamedTuple):
    """A period and the one behind it. Seconds since 1970; `start` is the mark that the period is known by."""

    start: int
    end: int  # the next one's start
    next_end: int


def span(period: Period, zone: dt.tzinfo, at: float) -> Span:
    """The period that `at` (seconds since 1970) lies in, and the end of the next. Any instant from year 2 to 9998."""
    start, end = _bounds(period, zone, at)
    return Span(start, end, _bounds(period, zone, end)[1])


class Calendar:
    """Remembers the periods that it was last asked for. `zone` gives the time zone of an IANA name."""

    def __init__(self, zone: Callable[[str], dt.tzinfo]) -> None:
        self._zone = zone
        self._spans: dict[tuple[str, str], Span] = {}

    def span(self, period: Period, timezone: str, at: float) -> Span:
        """As `span` says."""
        known = self._spans.get((period, timezone))
        if known is None or not known.start <= at < known.end:
            known = self._spans[period, timezone] = span(period, self._zone(timezone), at)
        return known


def _bounds(period: Period, zone: dt.tzinfo, at: float) -> tuple[int, int]:
    begins = _hours(zone, at) if period == "1h" else _days(period, zone, at)
    return max(one for one in begins if one <= at), min(one for one in begins if one > at)


def _hours(zone: dt.tzinfo, at: float) -> set[int]:
    """Instants around `at` at which the wall clock shows a full hour."""
    offsets = {_offset(zone, at + hours * HOUR) for hours in (-AROUND, 0, AROUND)}
    floors = (int((at + offset) // HOUR) * HOUR - offset for offset in offsets)
    near = {floor + hours * HOUR for floor in floors for hours in range(-AROUND, AROUND + 1)}
    return {one for one in near if (one + _offset(zone, one)) % HOUR == 0}


def _days(period: Period, zone: dt.tzinfo, at: float) -> set[int]:
    """Instants around `at` at which a day begins, or a month."""
    today = _wall(zone, at).date()
    if period == "1d":
        days = [today + dt.timedelta(days=days) for days in range(-AROUND, AROUND + 1)]
    else:
        months = [today.year * 12 + today.month - 1 + months for months in range(-1, AROUND + 1)]
        days = [dt.date(month // 12, month % 12 + 1, 1) for month in months]
    return {int(dt.datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) for day in days}


def _wall(zone: dt.tzinfo, at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at // 1, zone)


def _offset(zone: dt.tzinfo, at: float) -> int:
    """Seconds that the wall clock is ahead of UTC."""
    offset = _wall(zone, at).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
