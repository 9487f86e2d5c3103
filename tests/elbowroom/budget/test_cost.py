"""What tokens cost: worked by hand, and that nothing within a hold costs more than was held."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.cost import cost, dearest
from elbowroom.budget.usage import Usage
from elbowroom.price import Price, Tier

# Micro-USD a million tokens: 2.50, 10.00, 1.25, 3.00 and 12.00 USD.
PRICE = Price(2_500_000, 10_000_000, cached=1_250_000, cache_write=3_000_000, reasoning=12_000_000)
LONG = Price(
    2_000_000, 8_000_000, reasoning=9_000_000,
    longer=(Tier(100_000, 4_000_000, 12_000_000), Tier(200_000, 6_000_000, 15_000_000, cached=1_000_000)),
)  # fmt: skip

HOUR = Price(
    2_500_000, 10_000_000, cache_write=2_500_000, cache_write_hour=4_000_000,
    longer=(Tier(200_000, 4_000_000, 20_000_000, cache_write=5_000_000, cache_write_hour=8_000_000),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("price", "usage", "micro_usd"),
    [
        (None, Usage(1_000_000, 1_000_000), 0),
        (PRICE, Usage(0, 0), 0),
        (PRICE, Usage(1_000, 100), 2_500 + 1_000),
        (PRICE, Usage(1_000, 100, cached=600, cache_write=200, reasoning=50), 500 + 750 + 600 + 500 + 600),
        (PRICE, Usage(1, 0), 3),  # 2.5, rounded up
        (PRICE, Usage(1, 1, cached=1), 12),  # 1.25 + 10: rounded up once
        (Price(2_500_000, 10_000_000), Usage(1_000, 100, cached=600, cache_write=200, reasoning=50), 2_500 + 1_000),
        (HOUR, Usage(1_000, 0, cache_write=200, cache_write_hour=50), 2_000 + 375 + 200),
        (HOUR, Usage(200_001, 0, cache_write=200_001, cache_write_hour=1), 1_000_000 + 8),
        (PRICE, Usage(1_000, 0, cache_write=200, cache_write_hour=50), 2_000 + 600),  # for how long does not matter
        (LONG, Usage(100_000, 1_000), 200_000 + 8_000),  # not above yet
        (LONG, Usage(100_001, 1_000), 400_004 + 12_000),
        (LONG, Usage(200_001, 1_000, cached=200_000, reasoning=1_000), 6 + 200_000 + 15_000),
        (LONG, Usage(1_000, 1_000, reasoning=1_000), 2_000 + 9_000),
    ],
)
def test_each_kind_of_token_has_its_own_price(price, usage, micro_usd):
    assert cost(price, usage) == micro_usd


@pytest.mark.parametrize(
    ("price", "prompt", "completion", "micro_usd"),
    [
        (None, 10, 10, 0),
        (PRICE, 1_000, 100, 3_000 + 1_200),
        (HOUR, 1_000, 100, 4_000 + 1_000),
        (LONG, 100_000, 1_000, 200_000 + 9_000),
        (LONG, 100_001, 1_000, 400_004 + 12_000),
        (Price(5, 5, longer=(Tier(10, 1, 1),)), 1_000_000, 1_000_000, 10),  # a long prompt that is cheaper
    ],
)
def test_the_dearest_way_is_what_counts(price, prompt, completion, micro_usd):
    assert dearest(price, prompt, completion) == micro_usd


RATE = st.integers(0, 10**9)
MAYBE = st.none() | RATE
TIERS = st.lists(
    st.builds(Tier, st.integers(0, 5_000), RATE, RATE, MAYBE, MAYBE, MAYBE), max_size=3
).map(lambda tiers: tuple(sorted(tiers, key=lambda tier: tier.above)))  # fmt: skip
PRICES = st.none() | st.builds(
    Price, RATE, RATE, cached=MAYBE, cache_write=MAYBE, reasoning=MAYBE, longer=TIERS, cache_write_hour=MAYBE
)


@st.composite
def held_and_billed(draw: st.DrawFn) -> tuple[int, int, Usage]:
    prompt, completion = draw(st.integers(0, 10_000)), draw(st.integers(0, 10_000))
    into, out = draw(st.integers(0, prompt)), draw(st.integers(0, completion))
    cached = draw(st.integers(0, into))
    written = draw(st.integers(0, into - cached))
    hour = draw(st.integers(0, written))
    return prompt, completion, Usage(into, out, cached, written, draw(st.integers(0, out)), hour)


@given(PRICES, held_and_billed())
def test_no_bill_within_the_held_tokens_comes_to_more_money_than_was_held(
    price: Price | None, case: tuple[int, int, Usage]
):
    prompt, completion, usage = case
    assert 0 <= cost(price, usage) <= dearest(price, prompt, completion)


@given(PRICES, held_and_billed())
def test_a_sum_is_rounded_up_and_by_less_than_one(price: Price | None, case: tuple[int, int, Usage]):
    *_, usage = case
    plain = Usage(usage.prompt, usage.completion)
    if price is not None and not price.longer:
        exact = usage.prompt * price.input + usage.completion * price.output
        assert 0 <= cost(price, plain) * 1_000_000 - exact < 1_000_000
