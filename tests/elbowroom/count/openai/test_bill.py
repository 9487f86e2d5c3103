"""A bill adds up."""

from __future__ import annotations

from elbowroom.count.openai.bill import Bill
from elbowroom.records import Basis, Plan


def test_a_bill_becomes_a_plan() -> None:
    bill = Bill(3)
    bill.constant += 4
    bill.texts.append("a")
    bill.margin += 1
    assert bill.plan() == Plan(7, ("a",), Basis.MODELLED, 1)
