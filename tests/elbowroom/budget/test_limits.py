from __future__ import annotations

from elbowroom.budget.limits import Limits


def test_nothing_is_limited_unless_somebody_says_so():
    limits = Limits()
    assert {getattr(limits, name) for name in ("rpm", "tpm", "parallel", "tokens", "micro_usd")} == {None}
