"""A count is a constant and the tokens of texts, each asked for once."""

from __future__ import annotations

import pytest

from elbowroom.count.counter import Tally, within_depth
from elbowroom.errors import CountUnavailable
from elbowroom.needs import NeedCounts
from elbowroom.records import Basis, Count, Plan


def test_texts_are_asked_for_once_and_in_one_question() -> None:
    tally = Tally("v")
    asking = tally.measure(["a", "b", "a", ""])
    assert next(asking) == NeedCounts("v", ("a", "b"), True)
    with pytest.raises(StopIteration):
        asking.send((1, 2))
    assert list(tally.measure(["b", "a"])) == []
    again = tally.measure(["a", "c"], recurring=False)
    assert next(again) == NeedCounts("v", ("c",), False)


def test_a_count_is_the_constant_and_the_sum() -> None:
    tally = Tally("v")
    tally.tokens |= {"a": 3, "b": 4}
    plan = Plan(10, ("a", "b", "a", ""), Basis.MODELLED, 2)
    assert tally.count(plan) == Count(20, Basis.MODELLED, 2)


def test_an_answer_of_the_wrong_length_is_noticed() -> None:
    asking = Tally("v").measure(["a", "b"])
    next(asking)
    with pytest.raises(ValueError, match="zip"):
        asking.send((1,))


def test_what_is_too_deep_cannot_be_counted() -> None:
    @within_depth
    def plan(depth: int, *, more: int = 0) -> Plan:
        """Deep."""
        return Plan(more, (), Basis.EXACT) if depth == 0 else plan(depth - 1, more=more + 1)

    assert (plan(3, more=1), plan.__doc__) == (Plan(4, (), Basis.EXACT), "Deep.")
    with pytest.raises(CountUnavailable, match="nested too deeply"):
        plan(10**6)
