"""What is kept of one level, and how its limits stand by it.

Knows: which sum each limit is held against, when a limit refuses, and what would refuse any request at all.
Does not know: where sums are kept, or what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from elbowroom.budget.hold import Amounts, Standing
from elbowroom.budget.limits import Entity

# Beside the limits of a ledger's records: a double, which a script counts in, is exact far beyond it.
MOST = 10**14  # tokens or micro-USD that one hold or one settlement may name
TOMBSTONE = 86_400  # seconds that a hold which was swept is remembered, so that a settlement may still replace it
SETTLED = 3_600  # seconds after its end that any other hold is, so that it is not charged twice
LONGEST = 86_400  # seconds that a hold may be open, renewals included
KEPT = LONGEST + TOMBSTONE  # seconds that a period's sums outlive it, since a hold settles in its own period
NOTHING = Amounts()
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
    spent: Amounts = NOTHING
    held: Amounts = NOTHING
    unconfirmed: Amounts = NOTHING  # of `spent`: charged in full for holders that were not heard of again
    requests_free: int = 0  # when there is room for one more; after an answer that refused nothing, when none is left
    tokens_free: int = 0  # likewise


def all_standing(levels: Iterable[Sums], asked: Amounts = NOTHING, requests: int = 0) -> tuple[Standing, ...]:
    """Every limit of every level, in their order. What is asked for is told, and is not added to what is held."""
    found: list[Standing] = []
    for sums in levels:
        name, kind, limits = sums.entity.name, sums.entity.kind, sums.entity.limits
        spent, held, end = sums.spent, sums.held, float(sums.end)
        if (most := limits.rpm) is not None:
            free = float(sums.requests_free)
            found.append(Standing(name, kind, "rpm_limit", most, sums.requests, 0, requests, free))
        if (most := limits.tpm) is not None:
            free = float(sums.tokens_free)
            found.append(Standing(name, kind, "tpm_limit", most, sums.rate_tokens, 0, asked.rate_tokens, free))
        if (most := limits.parallel) is not None:
            # When a request will end is known to nobody: it may be now.
            found.append(Standing(name, kind, "max_parallel_requests", most, 0, sums.open, requests, sums.at))
        if (most := limits.tokens) is not None:
            found.append(Standing(name, kind, "max_tokens", most, spent.tokens, held.tokens, asked.tokens, end))
        if (most := limits.micro_usd) is not None:
            found.append(
                Standing(name, kind, "max_budget", most, spent.micro_usd, held.micro_usd, asked.micro_usd, end)
            )
    return tuple(found)


def nothing_left(sums: Sums) -> bool:
    """Whether any limit of that level would refuse any request at all."""
    limits, spent, held = sums.entity.limits, sums.spent, sums.held
    return (
        (limits.rpm is not None and sums.requests >= limits.rpm)
        or (limits.tpm is not None and sums.rate_tokens + LEAST.rate_tokens > limits.tpm)
        or (limits.parallel is not None and sums.open >= limits.parallel)
        or (limits.tokens is not None and spent.tokens + held.tokens + LEAST.tokens > limits.tokens)
        or (limits.micro_usd is not None and spent.micro_usd + held.micro_usd + LEAST.micro_usd > limits.micro_usd)
    )


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
