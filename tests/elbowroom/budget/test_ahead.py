"""What the next request would meet: the ledger's own rule decides, and the cap is the largest that passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.ahead import ahead
from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Entity, Limits
from elbowroom.budget.sums import NOTHING, Sums, all_standing, refusing
from elbowroom.budget.view import level
from elbowroom.errors import InvalidConfig
from elbowroom.read.catalog import Catalog, LitellmParams, ModelInfo, ModelRow

PRICED = {"input_cost_per_token": 0.000002, "output_cost_per_token": 0.00001}


def model(**info):
    told = {"context_window": 8_000, "max_output_tokens": 1_000, **PRICED, **info}
    row = ModelRow(model_name="m", litellm_params=LitellmParams(model="hosted_vllm/m"), model_info=ModelInfo(**told))
    return Catalog.of((row,), lambda _, what: InvalidConfig(what)).find("m")


def sums(kind, limits: Limits, *, spent: Amounts = NOTHING, **more) -> Sums:
    return Sums(
        Entity(kind, f"the {kind}", limits), 10.0, 0, 100, spent=spent, requests_free=40, tokens_free=50, **more
    )


def test_what_has_room_is_let_through_and_the_first_to_refuse_more_is_named():
    levels = [level(sums("org", Limits(tokens=10_000, rpm=2))), level(sums("team", Limits(micro_usd=25_000)))]
    found = ahead(levels, model(), 100, None)
    assert (found.asked, found.refused, found.cap) == (Amounts(1_100, 10_200, 1_100), (), None)
    assert found.first is not None
    # Two a minute come again; what is spent in the period does not.
    assert (found.first.entity, found.first.limit, found.fits) == ("the team", "max_budget", 2)


def test_where_only_rates_limit_they_are_named():
    found = ahead([level(sums("org", Limits(rpm=5, parallel=3)))], model(), 100, None)
    assert found.first is not None
    assert (found.first.limit, found.fits) == ("max_parallel_requests", 3)


def test_where_nothing_limits_nothing_is_named():
    found = ahead([level(sums("org", Limits()))], model(), 100, 50)
    assert (found.first, found.answer, found.fits) == (None, 50, 0)


def test_every_limit_that_refuses_is_named_the_largest_level_first():
    levels = [
        level(sums("org", Limits(tokens=2_000), spent=Amounts(1_500))),
        level(sums("team", Limits())),
        level(sums("key", Limits(tokens=1_000, micro_usd=9_000))),
    ]
    found = ahead(levels, model(), 100, None)
    assert [(one.entity, one.limit, one.asked) for one in found.refused] == [
        ("the org", "max_tokens", 1_100), ("the key", "max_tokens", 1_100), ("the key", "max_budget", 10_200),
    ]  # fmt: skip
    assert (found.cap, found.first) == (400, None)
    assert ahead(levels, model(), 100, 400).refused == ()
    assert len(ahead(levels, model(), 100, 401).refused) == 1


def test_a_rate_takes_only_the_room_that_is_kept_for_the_answer():
    levels = [level(sums("org", Limits(tpm=400)))]
    assert ahead(levels, model(), 100, None).refused != ()
    kept = ahead(levels, model(), 100, None, 300)
    assert (kept.asked, kept.refused, kept.fits) == (Amounts(1_100, 10_200, 400), (), 1)
    refused = ahead(levels, model(), 200, None, 300)
    assert (refused.refused[0].asked, refused.cap) == (500, 200)


@pytest.mark.parametrize(
    ("limits", "prompt"), [(Limits(tokens=100), 100), (Limits(rpm=0), 1), (Limits(micro_usd=0), 1)]
)
def test_where_the_prompt_alone_is_too_much_no_cap_helps(limits, prompt):
    found = ahead([level(sums("org", limits))], model(), prompt, None)
    assert (found.cap, len(found.refused)) == (None, 1)


@given(
    tokens=st.integers(0, 2_000),
    money=st.integers(0, 20_000),
    tpm=st.integers(0, 2_000),
    prompt=st.integers(0, 1_500),
    spent=st.integers(0, 500),
)
def test_the_cap_is_the_largest_that_a_ledger_would_let_through(tokens, money, tpm, prompt, spent):
    one = sums("org", Limits(tokens=tokens, micro_usd=money, tpm=tpm), spent=Amounts(spent, spent), rate_tokens=spent)

    def passes(cap: int) -> bool:
        asked = ahead([level(one)], model(), prompt, cap).asked
        return not refusing(all_standing((one,), asked, 1))

    found = ahead([level(one)], model(), prompt, None)
    if not found.refused:
        assert passes(1_000)
    elif found.cap is None:
        assert not passes(1)
    else:
        assert passes(found.cap)
        assert not passes(found.cap + 1)
