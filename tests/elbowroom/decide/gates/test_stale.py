from __future__ import annotations

import pytest

from elbowroom.decide.dates import seconds
from elbowroom.decide.gates.stale import build
from elbowroom.decide.passage import Refusal, Room
from tests.passages import limits, passage

NOW = limits(now=seconds("2026-11-29T00:00:00Z"))


def test_a_copy_older_than_its_source_s_freshness_goes():
    old = passage(fetched_at="2026-11-19T00:00:00Z", freshness_days=7)
    assert build(NOW)(old, Room([])) == Refusal("10 days old, and its source is fresh for 7")


@pytest.mark.parametrize(
    "known",
    [
        {"fetched_at": "2026-11-22T00:00:00Z", "version": "2020-01-01", "freshness_days": 7},
        {"version": "2026-11-28", "freshness_days": 7},
        {"version": "v3", "freshness_days": 7},
        {"fetched_at": "2001-01-01"},
    ],
    ids=["fetched", "version", "undated", "unregistered"],
)
def test_what_is_fresh_undated_or_of_no_known_source_passes(known):
    assert build(NOW)(passage(**known), Room([])) is None


def test_where_nobody_says_what_time_it_is_nothing_is_stale():
    assert build(limits())(passage(version="2001-01-01", freshness_days=1), Room([])) is None
