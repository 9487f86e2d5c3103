"""What tokens come to in money: of an answer as it was billed, and at most.

Knows: which tokens have a price of their own, that a long prompt changes all prices, and that a request's sum is
rounded up once. Integers only: micro-USD.
Does not know: any model's price, what is held, budgets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from elbowroom.budget.usage import Usage
from elbowroom.price import Price, Tier

MILLION = 1_000_000


class _Rates(NamedTuple):
    """Micro-USD a million tokens, of each kind."""

    fresh: int
    cached: int
    cache_write: int
    cache_write_hour: int
    output: int
    reasoning: int


def cost(price: Price | None, usage: Usage) -> int:
    """Micro-USD of that usage. Without a price it is 0: nobody said what it costs."""
    if price is None:
        return 0
    *_, rates = _tiers(price, usage.prompt)
    fresh = usage.prompt - usage.cached - usage.cache_write
    return _rounded(
        fresh * rates.fresh
        + usage.cached * rates.cached
        + (usage.cache_write - usage.cache_write_hour) * rates.cache_write
        + usage.cache_write_hour * rates.cache_write_hour
        + (usage.completion - usage.reasoning) * rates.output
        + usage.reasoning * rates.reasoning
    )


def dearest(price: Price | None, prompt: int, completion: int) -> int:
    """Micro-USD of the dearest way in which so many tokens, or fewer of either, may be billed."""
    if price is None:
        return 0
    tiers = list(_tiers(price, prompt))
    into = max(max(rates.fresh, rates.cached, rates.cache_write, rates.cache_write_hour) for rates in tiers)
    out = max(max(rates.output, rates.reasoning) for rates in tiers)
    return _rounded(prompt * into + completion * out)


def _tiers(price: Price, prompt: int) -> Iterator[_Rates]:
    """The rates of prompts up to that length; the last are those of a prompt of exactly that length."""
    yield _rates(price, price.reasoning)
    for tier in price.longer:
        if prompt > tier.above:
            # Reasoning has no price by length in any table, and is output: it costs as much, at least.
            reasoning = None if price.reasoning is None else max(price.reasoning, tier.output)
            yield _rates(tier, reasoning)


def _rates(of: Price | Tier, reasoning: int | None) -> _Rates:
    written = of.input if of.cache_write is None else of.cache_write
    return _Rates(
        of.input,
        of.input if of.cached is None else of.cached,
        written,
        written if of.cache_write_hour is None else of.cache_write_hour,
        of.output,
        of.output if reasoning is None else reasoning,
    )


def _rounded(sum_of_rates: int) -> int:
    return -(-sum_of_rates // MILLION)
