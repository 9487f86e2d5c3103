"""The same id is let in once."""

from __future__ import annotations

from elbowroom.decide.gates.repeated_id import build
from elbowroom.decide.passage import Passage, Room
from tests.passages import limits, passage


def test_the_second_is_refused_and_the_first_is_named():
    first, other = passage(id="a", position=3), passage(id="b", position=1)
    kept: list[Passage] = []
    gate = build(limits())
    assert gate(first, Room(kept)) is None
    kept.append(first)
    assert gate(other, Room(kept)) is None
    kept.append(other)
    refusal = gate(passage(id="a", position=4), Room(kept))
    assert refusal is not None
    assert refusal.repeats is first
    assert "documents[3]" in refusal.detail


def test_an_id_that_was_not_let_in_does_not_count():
    gate = build(limits())
    assert gate(passage(id="a"), Room([])) is None
    assert gate(passage(id="a"), Room([])) is None
