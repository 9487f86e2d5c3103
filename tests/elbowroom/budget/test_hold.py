from __future__ import annotations

from elbowroom.budget.hold import Amounts, Settled


def test_a_settlement_is_no_overrun_unless_it_says_by_how_much():
    assert Settled("settled").overrun == Amounts(0, 0, 0)
