from __future__ import annotations

import pytest

from elbowroom.budget.limits import Account, Entity, Limits


def test_nothing_is_limited_unless_somebody_says_so():
    limits = Limits()
    assert {getattr(limits, name) for name in ("rpm", "tpm", "parallel", "tokens", "micro_usd")} == {None}


@pytest.mark.parametrize(
    ("limits", "limited", "by_tokens", "by_money"),
    [
        (Limits(), False, False, False),
        (Limits(rpm=0), True, False, False),
        (Limits(parallel=3), True, False, False),
        (Limits(tpm=3), True, True, False),
        (Limits(tokens=0), True, True, False),
        (Limits(micro_usd=0), True, True, True),
    ],
)
def test_what_an_account_is_limited_in_is_what_any_of_its_levels_is(limits, limited, by_tokens, by_money):
    for at in range(3):
        levels = [Limits(), Limits(), Limits()]
        levels[at] = limits
        kinds = ("org", "team", "key")
        account = Account("a", "UTC", tuple(Entity(kind, "a", one) for kind, one in zip(kinds, levels, strict=True)))  # type: ignore[arg-type]
        assert (account.limited, account.by_tokens, account.by_money) == (limited, by_tokens, by_money)
        assert account.limiting.entities == (account.entities[at : at + 1] if limited else ())
