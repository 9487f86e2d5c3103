"""What was said above need not be said again."""

from __future__ import annotations

from elbowroom.decide.gates.low_novelty import build
from elbowroom.decide.passage import Room
from tests.passages import limits, passage


def test_below_the_least_novelty_it_is_refused_with_both_numbers():
    gate = build(limits(min_novelty=0.2))
    refusal = gate(passage(), Room([], novelty=0.19))
    assert refusal is not None
    assert refusal.detail == "novelty 0.19, at least 0.20"
    assert gate(passage(), Room([], novelty=0.2)) is None


def test_where_nobody_measures_novelty_everything_is_new():
    assert build(limits(min_novelty=1.0))(passage(), Room([])) is None
