from __future__ import annotations

from elbowroom.decide.gates.below_floor import build
from elbowroom.decide.passage import Refusal, Room
from tests.passages import limits, passage


def test_a_scored_passage_below_the_floor_goes():
    gate = build(limits(floor=0.2))
    assert gate(passage(score=1.0, relevance=0.1), Room([])) == Refusal("relevance 0.100 is below 0.2")
    assert gate(passage(rerank_score=1.0, relevance=0.1), Room([])) is not None
    assert gate(passage(score=1.0, relevance=0.2), Room([])) is None


def test_without_a_score_or_a_floor_nothing_goes():
    assert build(limits(floor=0.2))(passage(relevance=0.0), Room([])) is None
    assert build(limits())(passage(score=0.0, relevance=0.0), Room([])) is None
