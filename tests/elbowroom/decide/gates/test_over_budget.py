"""What does not fit is told by how much."""

from __future__ import annotations

from elbowroom.decide.gates.over_budget import build
from elbowroom.decide.passage import Room
from tests.passages import limits, passage


def test_one_token_too_many_is_refused():
    gate = build(limits())
    assert gate(passage(), Room([], tokens_left=10, cost=10)) is None
    refusal = gate(passage(), Room([], tokens_left=10, cost=11))
    assert refusal is not None
    assert refusal.detail == "1 tokens too many: it costs 11, 10 are left"
