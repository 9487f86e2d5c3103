"""How old a document says it is."""

from __future__ import annotations

import pytest

from elbowroom.decide.dates import day, seconds, seen_at, time_matters
from elbowroom.read.sources import Registry, SourceRow
from elbowroom.records import Document


@pytest.mark.parametrize(
    ("version", "fetched_at", "expected"),
    [
        ("2026-10-01", "2026-11-02T08:00:00Z", 20261001),
        ("v3", "2026-11-02T08:00:00Z", 20261102),
        (None, "2026-11-02", 20261102),
        ("v3", "yesterday", 0),
        (None, None, 0),
    ],
)
def test_the_version_speaks_before_the_day_of_fetching(version, fetched_at, expected):
    assert day(Document(0, "a", "text", version=version, fetched_at=fetched_at)) == expected


@pytest.mark.parametrize(
    ("claim", "at"),
    [("1970-01-02", 86_400.0), ("1970-01-01T01:00:00+01:00", 0.0), (" 1970-01-01T00:00:01Z ", 1.0), (5, 5.0),
     (True, None), ("v1", None), (None, None), ("2026-13-01", None), ("9999-12-31T00:00:00Z", 253_402_214_400.0),
     (1_900_000_000_000, None), (-1_900_000_000_000, None), (10**400, None), (float("nan"), None)],
)  # fmt: skip
def test_seconds_since_1970(claim, at):
    assert seconds(claim) == at


def test_a_copy_was_last_seen_when_it_was_fetched():
    assert seen_at(Document(0, "d", "", version="1970-01-02", fetched_at="1970-01-03")) == 2 * 86_400
    assert seen_at(Document(0, "d", "", version="1970-01-02", fetched_at="?")) == 86_400
    assert seen_at(Document(0, "d", "", version="v1")) is None


def test_time_matters_where_something_expires_or_may_become_stale():
    plain = [Document(0, "d", ""), Document(1, "e", "", access={"label": "x", "expires_at": None})]
    expiring = Document(2, "f", "", access={"expires_at": "2030-01-01"})
    assert not time_matters(plain, Registry(sources=(SourceRow(id="kb"),)))
    assert time_matters([*plain, expiring], Registry())
    assert time_matters(plain, Registry(sources=(SourceRow(id="kb", freshness_days=1),)))
