"""Who is limited, and to what.

Knows: the limits of an organisation, a team and a key, and that all three must agree to a request.
Does not know: what has been spent, any price, any clock, where the limits were written.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from msgspec import Struct, structs

Period = Literal["1h", "1d", "1mo"]  # of the calendar in the organisation's time zone


class Limits(Struct, frozen=True, kw_only=True):
    """None: not limited. 0: nothing at all."""

    rpm: int | None = None  # requests in any 60 seconds
    tpm: int | None = None  # tokens in any 60 seconds: packed prompts and the room for their answers
    parallel: int | None = None  # requests at once
    tokens: int | None = None  # in one period: prompts, and all that may be emitted
    micro_usd: int | None = None  # in one period
    period: Period = "1mo"


class Entity(Struct, frozen=True):
    """One level that must agree."""

    kind: Literal["org", "team", "key"]
    name: str  # `acme`, `acme/support`, `acme/support/bot`
    limits: Limits


class Account(Struct, frozen=True, dict=True):
    """Whom a request is charged to: every level, the largest first."""

    org: str  # everything of one organisation is kept in one place, and changes in one step
    timezone: str  # an IANA name
    entities: tuple[Entity, ...]

    # Every request asks these of an account that stays the same.

    @cached_property
    def limiting(self) -> Account:
        """The same with those levels alone that limit anything: no other can refuse."""
        return structs.replace(self, entities=tuple(one for one in self.entities if _any(one, *_MOST)))

    @property
    def limited(self) -> bool:
        """Whether any level limits anything."""
        return bool(self.limiting.entities)

    @cached_property
    def by_tokens(self) -> bool:
        """Whether any level limits what depends on how much is sent and answered."""
        return any(_any(one, "tpm", "tokens", "micro_usd") for one in self.entities)

    @cached_property
    def by_money(self) -> bool:
        """Whether any level limits money."""
        return any(_any(one, "micro_usd") for one in self.entities)


_MOST = ("rpm", "tpm", "parallel", "tokens", "micro_usd")


def _any(entity: Entity, *names: str) -> bool:
    return any(getattr(entity.limits, name) is not None for name in names)
