"""Periods follow each other without a gap, whatever a zone's clocks do."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.limits import Period
from elbowroom.budget.period import Calendar, span

PERIODS: tuple[Period, ...] = ("1h", "1d", "1mo")
# Half an hour forward and back, a day left out, midnights that are left out or passed twice, odd minutes, seconds.
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"),
    *("Pacific/Apia", "America/Sao_Paulo", "America/Havana", "Africa/Monrovia", "Asia/Gaza", "Africa/Casablanca"),
)
LONGEST = {"1h": 24 * 3600 + 3600, "1d": 49 * 3600, "1mo": 33 * 86_400}  # seconds, a left-out day included

zones = st.sampled_from(ZONES).map(ZoneInfo)
periods = st.sampled_from(PERIODS)
instants = st.floats(-3e9, 4e9, allow_nan=False)


def at(text: str, zone: str, fold: int = 0) -> float:
    return dt.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


@given(periods, zones, instants)
def test_an_instant_lies_in_one_period_and_the_next_follows_at_once(period, zone, now):
    found = span(period, zone, now)
    assert found.start <= now < found.end < found.next_end
    assert found.end - found.start <= LONGEST[period]
    assert span(period, zone, found.start) == found
    assert span(period, zone, found.end - 1) == found
    after = span(period, zone, found.end)
    assert after[:2] == found[1:]


@given(periods, zones, instants, st.floats(0, 1e5))
def test_time_never_goes_back_to_a_period_that_is_over(period, zone, now, later):
    assert span(period, zone, now).start <= span(period, zone, now + later).start


@given(periods, zones, st.floats(0, 4e9, allow_nan=False))
def test_a_period_begins_where_the_wall_clock_says_so(period, zone, now):
    start = dt.datetime.fromtimestamp(span(period, zone, now).start, zone)
    if period == "1h":
        assert (start.minute, start.second) == (0, 0)
    else:
        # A midnight that is left out is followed by the first instant of its day.
        midnight = (start.hour, start.minute, start.second) == (0, 0, 0)
        skipped = dt.datetime.fromtimestamp(start.timestamp() - 7200, zone).utcoffset() != start.utcoffset()
        assert midnight or skipped


@given(periods, st.floats(0, 4e9, allow_nan=False))
def test_in_utc_it_is_the_calendars_own(period, now):
    day = dt.datetime.fromtimestamp(now // 1, dt.UTC)
    start = {
        "1h": day.replace(minute=0, second=0),
        "1d": day.replace(hour=0, minute=0, second=0),
        "1mo": day.replace(day=1, hour=0, minute=0, second=0),
    }[period]
    assert span(period, dt.UTC, now).start == start.timestamp()


@pytest.mark.parametrize(
    ("period", "now", "zone", "hours"),
    [
        ("1d", "2026-03-29T12:00", "Europe/Berlin", 23),
        ("1d", "2026-10-25T12:00", "Europe/Berlin", 25),
        ("1h", "2026-10-25T02:30", "Europe/Berlin", 1),  # passed twice: two hours
        ("1h", "2026-03-29T03:30", "Europe/Berlin", 1),
        ("1h", "2026-04-05T01:45", "Australia/Lord_Howe", 1.5),  # half an hour back
        ("1h", "2026-10-04T01:15", "Australia/Lord_Howe", 1.5),
        ("1h", "2026-06-01T00:30", "Asia/Kathmandu", 1),
        ("1d", "2011-12-29T12:00", "Pacific/Apia", 24),  # the 30th was left out
        ("1d", "2018-11-04T12:00", "America/Sao_Paulo", 23),  # begins at one o'clock
        ("1mo", "2026-12-24T12:00", "Asia/Kathmandu", 31 * 24),
        ("1mo", "2024-02-29T23:59", "America/New_York", 29 * 24),
    ],
)
def test_how_long_a_period_is(period, now, zone, hours):
    found = span(period, ZoneInfo(zone), at(now, zone))
    assert (found.end - found.start) / 3600 == hours


def test_the_hour_that_is_passed_twice_is_two_periods():
    first, second = (
        span("1h", ZoneInfo("Europe/Berlin"), at("2026-10-25T02:30", "Europe/Berlin", fold)) for fold in (0, 1)
    )
    assert first.end == second.start


def test_an_offset_of_none_is_utc():
    class Silent(dt.tzinfo):
        def utcoffset(self, _: dt.datetime | None) -> dt.timedelta | None:
            return None

        def dst(self, _: dt.datetime | None) -> dt.timedelta | None:
            return None

        def tzname(self, _: dt.datetime | None) -> str | None:
            return None

        def fromutc(self, when: dt.datetime) -> dt.datetime:
            return when

    assert span("1h", Silent(), 7_201.0)[:2] == (7_200, 10_800)


def test_a_calendar_reckons_anew_only_when_a_period_is_over():
    asked: list[str] = []

    def zone(name: str) -> dt.tzinfo:
        asked.append(name)
        return ZoneInfo(name)

    calendar = Calendar(zone)
    moments = [7_200.0, 7_201.0, 10_799.9, 10_800.0, 7_200.0]
    assert [calendar.span("1h", "UTC", now).start for now in moments] == [7_200, 7_200, 7_200, 10_800, 7_200]
    assert asked == ["UTC"] * 3
