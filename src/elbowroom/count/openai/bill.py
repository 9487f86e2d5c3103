"""A count while it is put together: constants, texts to be measured, and how sure we are.

Knows: how to add, and that one guess at an upper bound makes the whole count a bound.
Does not know: what the parts are.
"""

from __future__ import annotations

from elbowroom.records import Basis, Plan


class Bill:
    """Mutable, made and thrown away within one `plan`."""

    __slots__ = ("basis", "constant", "margin", "texts")

    def __init__(self, constant: int) -> None:
        self.constant = constant  # tokens
        self.texts: list[str] = []
        self.margin = 0  # tokens by which a part may differ from the bill
        self.basis = Basis.MODELLED

    def plan(self) -> Plan:
        return Plan(self.constant, tuple(self.texts), self.basis, self.margin)
