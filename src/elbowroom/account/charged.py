"""What records say that requests were charged, added up by level: for sums that a ledger has lost.

Knows: whose a request was, when it was held and when it was settled as near as its record says, and that no record is
counted twice.
Does not know: where records or sums are kept, or which records are missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.account.row import milliseconds
from elbowroom.account.trace import Aside, Held, Settlement
from elbowroom.budget.hold import Amounts
from elbowroom.budget.sums import Sums
from elbowroom.records import Principal

_ASKS_MODELS = ("summary", "compress")


class _Record(Struct, frozen=True):
    """The part of a record that says what it was charged."""

    trace_id: str
    time: str
    principal: Principal | None = None
    hold: Held | None = None
    settlement: Settlement | None = None
    asides: tuple[Aside, ...] = ()
    timings_ms: dict[str, float] = {}


class Charge(Struct, frozen=True):
    """One request's. Times in seconds since 1970."""

    trace_id: str
    at: float  # when it was held
    ended: float  # when it was settled
    levels: tuple[tuple[str, str], ...]  # kind and name: its organisation, its team, its key if it has one
    amounts: Amounts
    unsaid: int = 0  # calls beside its answer of which nobody knows what they were charged


def charge(story: Mapping[str, Any]) -> Charge | None:
    """What the record says; None where nothing was charged to anybody. Raises `ValueError` for what is no record."""
    found = msgspec.convert(story, _Record)
    who, hold, settled = found.principal, found.hold, found.settlement
    if who is None or who.org is None or who.team is None or hold is None or settled is None:
        return None
    if settled.state == "too_old":
        return None
    levels = [("org", who.org), ("team", f"{who.org}/{who.team}")]
    if who.key is not None:
        levels.append(("key", f"{who.org}/{who.team}/{who.key}"))
    # Where only requests are limited, neither answers nor what is asked beside them are charged for.
    counts = hold.amounts != Amounts() or hold.prompt == 0
    beside = [one for one in found.asides if counts and not one.cached]
    unsaid = sum(bool(one.failed) or (one.purpose in _ASKS_MODELS and one.prompt_tokens == 0) for one in beside)
    amounts = settled.amounts
    came = milliseconds(found.time) / 1000
    return Charge(
        found.trace_id,
        came + found.timings_ms.get("overhead", 0.0) / 1000,
        came + found.timings_ms.get("total", 0.0) / 1000,
        tuple(levels),
        Amounts(
            amounts.tokens + sum(one.prompt_tokens + one.completion_tokens for one in beside),
            amounts.micro_usd + sum(one.micro_usd or 0 for one in beside),
        ),
        unsaid,
    )


class Added:
    """Charges added up beside what a ledger said of some levels at one instant."""

    def __init__(self, levels: Sequence[Sums]) -> None:
        self.levels = levels
        self.charges = 0  # that count in at least one of the levels
        self.unsaid = 0  # calls beside answers of which nobody knows what they were charged
        self._at: dict[tuple[str, str], int] = {
            (one.entity.kind, one.entity.name): number for number, one in enumerate(levels)
        }
        self._sums = [(0, 0)] * len(levels)
        self._seen: set[str] = set()

    def add(self, charges: Iterable[Charge]) -> None:
        """What was settled since the ledger was asked is there already, and is not added."""
        for one in charges:
            if one.trace_id in self._seen:
                continue
            self._seen.add(one.trace_id)
            within = [self._at[level] for level in one.levels if level in self._at]
            counted = [number for number in within if _counts(one, self.levels[number])]
            for number in counted:
                tokens, money = self._sums[number]
                self._sums[number] = (tokens + one.amounts.tokens, money + one.amounts.micro_usd)
            self.charges += bool(counted)
            self.unsaid += one.unsaid if counted else 0

    @property
    def spent(self) -> tuple[Amounts, ...]:
        """One a level."""
        return tuple(Amounts(*one) for one in self._sums)

    def restored(self, *, lower: bool) -> tuple[Amounts, ...]:
        """What each level is to have spent: what the records say, and no less than the ledger said unless it may be."""
        if lower:
            return self.spent
        return tuple(
            Amounts(max(one.tokens, before.spent.tokens), max(one.micro_usd, before.spent.micro_usd))
            for one, before in zip(self.spent, self.levels, strict=True)
        )


def _counts(one: Charge, level: Sums) -> bool:
    return level.start <= one.at < level.end and one.ended <= level.at
