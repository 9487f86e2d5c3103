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


def test_where_not_even_the_note_fits_no_negative_room_is_told():
    refusal = build(limits())(passage(), Room([], tokens_left=-35, cost=17))
    assert refusal is not None
    assert refusal.detail == "52 tokens too many: it costs 17, the note 35 more than there are"
