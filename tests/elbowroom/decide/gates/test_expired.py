from __future__ import annotations

import pytest

from elbowroom.decide.dates import seconds
from elbowroom.decide.gates.expired import build
from elbowroom.decide.passage import Refusal, Room
from tests.passages import limits, passage

NOW = limits(now=seconds("2026-11-29T12:00:00Z"))


@pytest.mark.parametrize("access", [None, {}, {"expires_at": None}, {"expires_at": "2026-11-29T13:00:01+01:00"}])
def test_what_holds_passes(access):
    assert build(NOW)(passage(access=access), Room([])) is None


@pytest.mark.parametrize(
    ("at", "said"),
    [("2026-11-29T12:00:00Z", "expired 0.0 hours ago"), ("2026-11-27", "expired 2 days ago"),
     (0, "expired 20786 days ago"), ("soon", "its expires_at is no date"), (True, "its expires_at is no date"),
     (1_900_000_000_000, "its expires_at is no date")],
)  # fmt: skip
def test_what_does_not_hold_or_cannot_be_read_goes(at, said):
    assert build(NOW)(passage(access={"expires_at": at}), Room([])) == Refusal(said)


def test_where_nobody_says_what_time_it_is_only_the_unreadable_goes():
    gate = build(limits())
    assert gate(passage(access={"expires_at": "2001-01-01"}), Room([])) is None
    assert gate(passage(access={"expires_at": []}), Room([])) is not None
