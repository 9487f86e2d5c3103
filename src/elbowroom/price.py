"""What tokens cost, as providers publish it.

Knows: the units, and which kinds of tokens are priced apart.
Does not know: any model's price, who pays, budgets.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct


class Tier(Struct, frozen=True):
    """What a request costs whose prompt is longer than `above` tokens, all of it, in micro-USD a million tokens."""

    above: int
    input: int
    output: int
    cached: int | None = None
    cache_write: int | None = None
    cache_write_hour: int | None = None


class Price(Struct, frozen=True):
    """What tokens cost, in micro-USD a million. None: not priced apart, so what `input` or `output` says."""

    input: int
    output: int
    cached: int | None = None  # prompt tokens that were read from the provider's cache
    cache_write: int | None = None  # prompt tokens that were written to it
    reasoning: int | None = None  # completion tokens that nobody sees
    longer: tuple[Tier, ...] = ()  # for long prompts; the last that fits holds
    cache_write_hour: int | None = None  # of those that were written, to be kept for an hour; None: as `cache_write`
    sound: bool = (
        False  # tokens of sound have a price of their own, and a far higher one, which nothing here reckons with
    )
    as_of: str = ""  # YYYY-MM-DD; "": the operator's own


def micro_usd(usd_per_token: float) -> int:
    """Micro-USD a million tokens: exactly what the decimal number says, rounded where it says more."""
    return round(Decimal(str(usd_per_token)) * 10**12)
