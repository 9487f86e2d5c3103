"""What an account's levels are called in a Redis, and what a hold's script is told of them.

Knows: the names of all keys. They begin with their version, and an organisation's stand in one slot of a cluster.
Does not know: what is kept under them (`lua/`), or when it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

import msgspec
from msgspec import Struct

from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Account, Entity
from elbowroom.budget.period import Calendar, Span
from elbowroom.budget.sums import Sums

# What every key begins with. Versions of the program that keep the same under the same names share their sums, so that
# an update changes no budget; one that keeps them otherwise takes another number, and begins with sums of its own.
LAYOUT = "eb:ldg:1"
SKEW = 5  # seconds of a new period in which the script may still be told of the one before: clocks differ
VALUES = 10  # that the script tells of each level


class Lines(Struct, frozen=True):
    """The keys that one hold changes, and when each of its periods ends."""

    keys: tuple[str, ...]  # of each level: what is live of it, its sums
    ends: tuple[int, ...]


class Levels(Struct, frozen=True):
    """An account as the scripts see it, while none of its periods is another."""

    account: Account
    spans: tuple[Span, ...]
    keys: tuple[str, ...]  # of each level: what is live of it, its sums of this period and of the next
    limits: bytes
    since: float  # seconds since 1970
    until: float

    def lines(self, which: Sequence[int]) -> Lines:
        """Those of a hold that was put in this period (0) or the next (1), level by level."""
        keys: list[str] = []
        for at, one in enumerate(which):
            keys += (self.keys[3 * at], self.keys[3 * at + 1 + one])
        return Lines(tuple(keys), tuple(span[1 + one] for span, one in zip(self.spans, which, strict=True)))

    def present(self, at: float) -> Lines:
        """Those of a hold that was made at that time."""
        return self.lines([0 if at < span.end else 1 for span in self.spans])

    def sums(self, at: float, values: Sequence[int]) -> tuple[Sums, ...]:
        """What the script told of each level."""
        found = []
        for number, (entity, span) in enumerate(zip(self.account.entities, self.spans, strict=True)):
            which, live, requests, rate, tokens, held_tokens, money, held_money, requests_free, rate_free = values[
                number * VALUES : (number + 1) * VALUES
            ]
            found.append(
                Sums(
                    entity,
                    at,
                    span[which],
                    span[which + 1],
                    live,
                    requests,
                    rate,
                    Amounts(tokens, money),
                    Amounts(held_tokens, held_money),
                    requests_free=requests_free,
                    tokens_free=rate_free,
                )
            )
        return tuple(found)


@lru_cache(maxsize=4096)
def prefix(org: str) -> str:
    """What stands before every key of an organisation."""
    return f"{LAYOUT}:{{{quote(org, safe='') or '%'}}}:"  # between empty braces there is no tag


def levels(account: Account, calendar: Calendar, at: float) -> Levels:
    """The account at that time, in seconds since 1970."""
    place = prefix(account.org)
    spans = tuple(calendar.span(one.limits.period, account.timezone, at - SKEW) for one in account.entities)
    keys: list[str] = []
    for entity, span in zip(account.entities, spans, strict=True):
        name = f"{entity.kind[0]}:{quote(entity.name)}"
        sums = f"{place}s:{name}:{entity.limits.period}"
        keys += (f"{place}l:{name}", f"{sums}:{span.start}", f"{sums}:{span.end}")
    limits = [_limits(entity, span) for entity, span in zip(account.entities, spans, strict=True)]
    since = max((span.start for span in spans), default=at)
    until = min((span.end for span in spans), default=at) + SKEW
    return Levels(account, spans, tuple(keys), msgspec.msgpack.encode(limits), since, until)


def _limits(entity: Entity, span: Span) -> tuple[int, ...]:
    """As `hold.lua` reads them."""
    limits = entity.limits
    most = (limits.rpm, limits.tpm, limits.parallel, limits.tokens, limits.micro_usd)
    return (*(-1 if one is None else one for one in most), *span)
