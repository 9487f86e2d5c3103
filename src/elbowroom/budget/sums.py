"""What is kept of one level, and how its limits stand by it.

Knows: which sum each limit is held against, when a limit refuses, and what would refuse any request at all.
Does not know: where sums are kept, or what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from elbowroom.budget.hold import Amounts, Name, Standing
from elbowroom.budget.limits import Entity

# Beside the limits of a ledger's records: a double, which a script counts in, is exact far beyond it.
MOST = 10**14  # tokens or micro-USD that one hold or one settlement may name
TOMBSTONE = 86_400  # seconds that a hold which was swept is remembered, so that a settlement may still replace it
SETTLED = 3_600  # seconds after its end that any other hold is, so that it is not charged twice
LONGEST = 86_400  # seconds that a hold may be open, renewals included
KEPT = LONGEST + TOMBSTONE  # seconds that a period's sums outlive it, since a hold settles in its own period
# What even the smallest request asks for: it is one, it has a token, and it may be free.
LEAST = Amounts(tokens=1, micro_usd=0, rate_tokens=1)


class Sums(Struct, frozen=True):
    """One level at one instant. Everything but `open` and the two of the last minute belongs to the period."""

    entity: Entity
    at: float  # seconds since 1970, by the ledger's clock
    start: int  # of the period
    end: int
    open: int = 0  # requests under way
    requests: int = 0  # in the last 60 seconds
    rate_tokens: int = 0  # likewise
    spent: Amounts = Amounts()
    held: Amounts = Amounts()
    unconfirmed: Amounts = Amounts()  # of `spent`: charged in full for holders that were not heard of again
    requests_free: int = 0  # when there is room for one more; after an answer that refused nothing, when none is left
    tokens_free: int = 0  # likewise


def standing(sums: Sums, asked: Amounts, requests: int) -> Iterator[Standing]:
    """Every limit of that level. What is asked for is told, and is not added to what is held."""
    kind, name, limits = sums.entity.kind, sums.entity.name, sums.entity.limits

    def one(limit: Name, most: int | None, spent: int, held: int, asks: int, reset: float) -> Iterator[Standing]:
        if most is not None:
            yield Standing(name, kind, limit, most, spent, held, asks, float(reset))

    spent, held = sums.spent, sums.held
    yield from one("rpm_limit", limits.rpm, sums.requests, 0, requests, sums.requests_free)
    yield from one("tpm_limit", limits.tpm, sums.rate_tokens, 0, asked.rate_tokens, sums.tokens_free)
    # When a request will end is known to nobody: it may be now.
    yield from one("max_parallel_requests", limits.parallel, 0, sums.open, requests, sums.at)
    yield from one("max_tokens", limits.tokens, spent.tokens, held.tokens, asked.tokens, sums.end)
    yield from one("max_budget", limits.micro_usd, spent.micro_usd, held.micro_usd, asked.micro_usd, sums.end)


def all_standing(levels: Iterable[Sums], asked: Amounts = Amounts(), requests: int = 0) -> tuple[Standing, ...]:  # noqa: B008 -- frozen
    """Every limit of every level, in their order."""
    return tuple(limit for sums in levels for limit in standing(sums, asked, requests))


def refusing(limits: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those that have no room for what is asked."""
    return tuple(one for one in limits if one.spent + one.held + one.asked > one.most)


def overrun(held: Amounts, came_to: Amounts) -> Amounts:
    """By how much it came to more than was held."""
    return Amounts(
        max(0, came_to.tokens - held.tokens),
        max(0, came_to.micro_usd - held.micro_usd),
        max(0, came_to.rate_tokens - held.rate_tokens),
    )


def checked(amounts: Amounts) -> Amounts:
    """The same. Raises `ValueError` for what no request can ask for or come to."""
    for amount in (amounts.tokens, amounts.micro_usd, amounts.rate_tokens):
        if not 0 <= amount <= MOST:
            raise ValueError(f"{amount} is not from 0 to {MOST}")
    return amounts
