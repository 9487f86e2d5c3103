"""What every level has and what is left of it, as an operator is shown it.

Knows: what is left of a limit, when it is gone at the pace of its period so far, and who spends the most.
Does not know: where sums are kept, who may see them, or how they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from elbowroom.budget.hold import Amounts, Name
from elbowroom.budget.limits import Period
from elbowroom.budget.sums import Sums, all_standing

MOST_KEYS = 5  # of those that spend the most

Unit = Literal["requests", "tokens", "micro_usd"]
_UNITS: dict[Name, Unit] = {
    "rpm_limit": "requests",
    "tpm_limit": "tokens",
    "max_parallel_requests": "requests",
    "max_tokens": "tokens",
    "max_budget": "micro_usd",
}


class Limit(Struct, frozen=True):
    """One limit, and where it stands. Times in seconds since 1970."""

    limit: Name
    unit: Unit
    most: int
    spent: int
    held: int
    unconfirmed: int  # of `spent`: charged in full for holders that were not heard of again
    remaining: int
    reset: int | None  # when all of it is there again; None: whenever a request ends
    runs_out: int | None  # when a period's limit is spent, at the pace so far; None: not in this period


class Sum(Struct, frozen=True):
    """Of one period."""

    tokens: int = 0
    micro_usd: int = 0


class Level(Struct, frozen=True):
    """One organisation, team or key in its present period. Times in seconds since 1970."""

    kind: Literal["org", "team", "key"]
    name: str  # `acme/support/bot`
    period: Period
    start: int
    end: int
    open: int  # requests under way
    spent: Sum
    held: Sum
    unconfirmed: Sum
    limits: tuple[Limit, ...]


class Team(Struct, frozen=True):
    """One team and its keys."""

    name: str
    level: Level | None  # None: whoever reads does not see it
    keys: tuple[Level, ...] = ()


class Top(Struct, frozen=True):
    """What one key spent in its own period."""

    name: str
    period: Period
    tokens: int
    micro_usd: int


class Org(Struct, frozen=True):
    """One organisation, its teams, and which of its keys spend the most."""

    name: str
    timezone: str
    level: Level | None
    teams: tuple[Team, ...] = ()
    top_keys: tuple[Top, ...] = ()


class Budgets(Struct, frozen=True):
    """All that somebody may see."""

    at: int  # seconds since 1970
    store: str  # which kind of ledger keeps them
    orgs: tuple[Org, ...]
    faults: tuple[str, ...] = ()  # what is wrong with the ledger


def level(sums: Sums) -> Level:
    """As the ledger keeps it, with what follows from it."""
    entity, limits = sums.entity, []
    for one in all_standing((sums,)):
        spent_in_period = one.limit in ("max_tokens", "max_budget")
        unconfirmed = {"max_tokens": sums.unconfirmed.tokens, "max_budget": sums.unconfirmed.micro_usd}
        limits.append(
            Limit(
                one.limit,
                _UNITS[one.limit],
                one.most,
                one.spent,
                one.held,
                unconfirmed.get(one.limit, 0),
                max(0, one.most - one.spent - one.held),
                None if one.limit == "max_parallel_requests" else math.ceil(one.reset),
                runs_out(sums, one.spent, one.most) if spent_in_period else None,
            )
        )
    return Level(
        entity.kind,
        entity.name,
        entity.limits.period,
        sums.start,
        sums.end,
        sums.open,
        _sum(sums.spent),
        _sum(sums.held),
        _sum(sums.unconfirmed),
        tuple(limits),
    )


def runs_out(sums: Sums, spent: int, most: int) -> int | None:
    """When `most` is spent at the pace of the period so far; None where the period ends before that."""
    if spent >= most:
        return math.floor(sums.at)
    gone = sums.at - sums.start
    if spent <= 0 or gone <= 0:
        return None
    found = sums.start + gone * most / spent
    return math.floor(found) if found < sums.end else None


def top(keys: Iterable[Level], most: int = MOST_KEYS) -> tuple[Top, ...]:
    """Those that spent the most money, and where that is the same, the most tokens."""
    spent = [Top(one.name, one.period, one.spent.tokens, one.spent.micro_usd) for one in keys if one.spent != Sum()]
    return tuple(sorted(spent, key=lambda one: (-one.micro_usd, -one.tokens, one.name))[:most])


def _sum(amounts: Amounts) -> Sum:
    return Sum(amounts.tokens, amounts.micro_usd)
