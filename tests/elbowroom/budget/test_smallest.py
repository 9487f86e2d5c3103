"""A limit below one hold is found, and the cap that is named mends it exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom import count
from elbowroom.budget.cost import dearest
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.smallest import Asking, TooSmall, least_prompt, too_small
from elbowroom.price import Price
from tests.walk import MODEL

SMALL = structs.replace(MODEL, name="small", max_output_tokens=1_000, price=Price(input=1_000_000, output=4_000_000))
LARGE = structs.replace(MODEL, name="large", max_output_tokens=9_000, price=Price(input=2_000_000, output=8_000_000))
COUNTERS = {model.name: count.build(model) for model in (SMALL, LARGE)}
PROMPT = least_prompt(COUNTERS["small"])


def account(**limits: Any) -> Account:
    return Account("acme", "UTC", (Entity("org", "acme", Limits()), Entity("team", "acme/t", Limits(**limits))))


def found(cap: int | None = None, models=(SMALL,), **limits: Any) -> list[TooSmall]:
    return too_small([Asking(account(**limits), models, cap)], COUNTERS)


def test_a_prompt_has_a_token_and_its_frame():
    assert COUNTERS["small"].plan({"messages": [{"role": "user", "content": ""}]}).constant + 1 == PROMPT


def test_what_one_hold_fits_into_is_none():
    assert found(tpm=PROMPT + 1_000, tokens=PROMPT + 1_000, micro_usd=PROMPT + 4_000, rpm=1, parallel=1) == []
    assert found() == found(tokens=0, tpm=0, micro_usd=0) == found(models=(), tokens=1) == []
    assert too_small([], COUNTERS) == []
    assert found(models=(structs.replace(SMALL, price=None),), micro_usd=1) == []
    assert found(cap=10, tokens=PROMPT + 10) == []


def test_each_limit_is_told_with_the_cap_that_mends_it():
    hold = PROMPT + 1_000
    assert found(tpm=PROMPT + 5, tokens=PROMPT + 7, micro_usd=PROMPT + 39) == [
        TooSmall("acme/t", "tpm_limit", PROMPT + 5, hold, "small", 5),
        TooSmall("acme/t", "max_tokens", PROMPT + 7, hold, "small", 7),
        TooSmall("acme/t", "max_budget", PROMPT + 39, PROMPT + 4_000, "small", 9),
    ]


def test_a_rate_takes_only_the_room_that_a_window_keeps_for_an_answer():
    def of(most: int, cap: int | None = None) -> list[TooSmall]:
        limits = account(tpm=most, tokens=PROMPT + 1_000)
        return too_small([Asking(limits, (SMALL,), cap, reserve=700)], COUNTERS)

    assert of(PROMPT + 700) == []
    assert of(PROMPT + 699) == [TooSmall("acme/t", "tpm_limit", PROMPT + 699, PROMPT + 700, "small", 699)]
    assert of(PROMPT + 699, cap=699) == []


def test_where_the_prompt_alone_is_too_much_no_cap_helps():
    assert [one.cap for one in found(tokens=PROMPT, micro_usd=1)] == [None, None]


def test_the_largest_hold_is_told_and_a_cap_that_does_for_all():
    (one,) = found(models=(SMALL, LARGE), micro_usd=PROMPT * 2 + 800)
    assert (one.model, one.least) == ("large", PROMPT * 2 + 72_000)
    assert one.cap == 100
    (one,) = found(models=(LARGE, SMALL), micro_usd=PROMPT)
    assert (one.model, one.cap) == ("large", None)
    both = [Asking(account(tokens=PROMPT + 50), (SMALL,), cap) for cap in (None, 60)]
    (one,) = too_small(both, COUNTERS)
    assert (one.least, one.cap) == (PROMPT + 1_000, 50)


@given(st.integers(1, 60_000))
def test_with_that_cap_one_hold_fits_and_with_one_more_it_does_not(most: int):
    for one in found(models=(LARGE,), tokens=most, micro_usd=most):
        capped = found(cap=one.cap, models=(LARGE,), **{"tokens" if one.limit == "max_tokens" else "micro_usd": most})
        assert (capped == []) is (one.cap is not None)
        if one.cap is not None:
            more = one.cap + 1
            hold = PROMPT + more if one.limit == "max_tokens" else dearest(LARGE.price, PROMPT, more)
            assert hold > most


@pytest.mark.parametrize("cap", [2_000, None])
def test_a_model_emits_no_more_than_its_maximum(cap: int | None):
    assert found(cap=cap, tokens=PROMPT + 1_000) == []
