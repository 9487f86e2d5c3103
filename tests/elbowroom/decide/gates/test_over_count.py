"""No more than so many passages."""

from __future__ import annotations

from elbowroom.decide.gates.over_count import build
from elbowroom.decide.passage import Room
from tests.passages import limits, passage


def test_the_one_after_the_last_is_refused():
    gate = build(limits(max_passages=2))
    assert gate(passage(), Room([passage()])) is None
    refusal = gate(passage(), Room([passage(), passage()]))
    assert refusal is not None
    assert refusal.detail == "2 of 2 passages were let in before it"
