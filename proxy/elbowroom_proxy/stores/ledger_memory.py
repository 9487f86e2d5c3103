"""Sums and holds in this process: the `Ledger` of a single instance without Redis. They end with it.

Knows: what is kept of each level and each hold, and for how long.
Does not know: what a hold is for, other processes. It never waits, so each call is one step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from zoneinfo import ZoneInfo

from msgspec import Struct

from elbowroom.budget.hold import Amounts, Denied, Granted, Held, Hold, Settled, Standing, Swept
from elbowroom.budget.limits import Account, Entity
from elbowroom.budget.period import Calendar
from elbowroom.budget.sums import (
    KEPT,
    LEAST,
    LONGEST,
    SETTLED,
    TOMBSTONE,
    Sums,
    all_standing,
    checked,
    nothing_left,
    overrun,
    refusing,
)
from elbowroom.budget.window import Window
from elbowroom_proxy.ledgerconfig import Ledger as Row

NOTHING = Amounts()


class _Level:
    """What is kept of one level beside its periods."""

    def __init__(self) -> None:
        self.open = 0
        self.window = Window()


class _Spent:
    """One level's sums of one period."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.spent = NOTHING
        self.held = NOTHING
        self.unconfirmed = NOTHING


class _Open(Struct):
    """One hold."""

    amounts: Amounts
    begun: float
    end: float
    lines: tuple[tuple[_Level, _Spent], ...]
    state: str = "open"  # then `settled`, `released` or `swept`
    requests: int = 1  # that it is one of, or none


class _Org:
    """Everything of one organisation."""

    def __init__(self) -> None:
        self.levels: dict[tuple[str, str], _Level] = {}
        self.spent: dict[tuple[str, str, str, int], _Spent] = {}
        self.holds: dict[str, _Open] = {}
        self.over: list[tuple[float, str]] = []  # a heap: when each hold that is over may be forgotten

    def forget(self, now: float) -> None:
        """Holds that have been over for long enough, and periods that no hold can settle in any more."""
        while self.over and self.over[0][0] < now:
            self.holds.pop(heappop(self.over)[1], None)
        for key in [key for key, one in self.spent.items() if one.end + KEPT < now]:
            del self.spent[key]


class MemoryLedger:
    """One process's ledger. `clock`: seconds since 1970."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._orgs: dict[str, _Org] = {}
        self._calendar = Calendar(ZoneInfo)

    async def start(self) -> None: ...

    async def hold(self, hold: Hold, *, seconds: float) -> Held:
        """Takes from every level or from none. Raises `ValueError` for the id of a hold that is over."""
        asked, now, org = checked(hold.amounts), self._clock(), self._org(hold.account)
        known = org.holds.get(hold.id)
        if known is not None:
            if known.state != "open":
                raise ValueError(f"the hold {hold.id} is over")
            return Granted(all_standing(self._read(org, hold.account, now), known.amounts, known.requests))
        found = all_standing(self._read(org, hold.account, now, asked), asked, hold.requests)
        if refused := refusing(found):
            return Denied(refused, found)
        lines = tuple(self._lines(org, hold.account, now))
        for level, spent in lines:
            level.open += hold.requests
            level.window.add(int(now), hold.requests, asked.rate_tokens)
            spent.held = _plus(spent.held, asked)
        org.holds[hold.id] = _Open(asked, now, now + min(seconds, LONGEST), lines, requests=hold.requests)
        return Granted(all_standing(self._read(org, hold.account, now), asked, hold.requests))

    async def renew(self, ident: str, account: Account, *, seconds: float) -> bool:
        """Moves the hold's end; False where there is no such open hold."""
        hold = self._org(account).holds.get(ident)
        if hold is None or hold.state != "open":
            return False
        hold.end = min(self._clock() + seconds, hold.begun + LONGEST)
        return True

    async def settle(self, ident: str, account: Account, came_to: Amounts, *, begun: float | None = None) -> Settled:
        """Puts what it came to in place of what was held."""
        checked(came_to)
        org, now = self._org(account), self._clock()
        hold = org.holds.get(ident)
        if hold is None and begun is not None and begun + TOMBSTONE < now:
            return Settled("too_old")
        if hold is None or hold.state == "released":
            hold = self._unheard_of(org, ident, account, now)
        if hold.state == "settled":
            return Settled("again")
        before, held = hold.state, hold.amounts
        self._take_back(hold, came_to.rate_tokens)
        for _, spent in hold.lines:
            spent.spent = _plus(spent.spent, came_to)
        if before == "open":
            heappush(org.over, (max(now, hold.end) + SETTLED, ident))
        hold.state = "settled"
        if before == "released":
            return Settled("unknown")
        return Settled("settled" if before == "open" else "late", overrun(held, came_to))

    async def release(self, ident: str, account: Account) -> None:
        """Nothing was spent."""
        org, now = self._org(account), self._clock()
        hold = org.holds.get(ident)
        if hold is None:
            hold = self._unheard_of(org, ident, account, now)
        if hold.state in {"open", "swept"}:
            self._take_back(hold, 0)
            if hold.state == "open":
                heappush(org.over, (max(now, hold.end) + SETTLED, ident))
            hold.state = "released"

    async def sweep(self, org: str) -> Sequence[Swept]:
        """Charges in full, as unconfirmed, every hold of the organisation that is past its end."""
        kept, now = self._orgs.setdefault(org, _Org()), self._clock()
        due = [(ident, hold) for ident, hold in kept.holds.items() if hold.state == "open" and hold.end <= now]
        for ident, hold in due:
            self._take_back(hold, hold.amounts.rate_tokens)
            for _, spent in hold.lines:
                spent.spent = _plus(spent.spent, hold.amounts)
                spent.unconfirmed = _plus(spent.unconfirmed, hold.amounts)
            heappush(kept.over, (now + TOMBSTONE, ident))
            hold.state = "swept"
        return [Swept(ident, hold.amounts) for ident, hold in due]

    async def overdue(self, org: str) -> int:
        """How many open holds of the organisation are past their end."""
        kept, now = self._orgs.setdefault(org, _Org()), self._clock()
        return sum(hold.state == "open" and hold.end <= now for hold in kept.holds.values())

    async def standing(self, account: Account) -> tuple[Standing, ...]:
        """Every limit of the account and where it stands now."""
        return all_standing(await self.sums(account))

    async def sums(self, account: Account) -> tuple[Sums, ...]:
        """What is kept of each level of the account."""
        return tuple(self._read(self._org(account), account, self._clock()))

    async def rebuild(self, account: Account, spent: Sequence[Amounts], was: Sequence[Sums] | None = None) -> None:
        """Puts `spent`, one a level, in place of what its present period has spent; of `was`, where that is given."""
        lines = self._lines(self._org(account), account, self._clock() if was is None else was[0].at)
        for at, ((_, sums), amounts) in enumerate(zip(lines, map(checked, spent), strict=True)):
            before = sums.spent if was is None else was[at].spent
            if was is None or amounts != before:
                sums.spent, sums.unconfirmed = _plus(sums.spent, _plus(amounts, _minus(before))), NOTHING

    def glance(self, account: Account) -> tuple[Standing, ...]:
        """The limits that would refuse any request at all."""
        levels = self._read(self._org(account), account.limiting, self._clock(), LEAST)
        # Every request asks, and hardly one is refused.
        return refusing(all_standing((one for one in levels if nothing_left(one)), LEAST, 1))

    def faults(self) -> tuple[str, ...]:
        """None: what is lost is lost with the process, and whoever configured it was told."""
        return ()

    async def healthy(self) -> bool:
        return True

    async def close(self) -> None: ...

    # --- what is kept -------------------------------------------------------------------------------------------------

    def _org(self, account: Account) -> _Org:
        known = self._orgs.get(account.org)
        return self._orgs.setdefault(account.org, _Org()) if known is None else known

    def _lines(self, org: _Org, account: Account, now: float) -> Iterator[tuple[_Level, _Spent]]:
        for entity in account.entities:
            period = entity.limits.period
            start, end, _ = self._calendar.span(period, account.timezone, now)
            key = (entity.kind, entity.name, period, start)
            if key not in org.spent:
                org.forget(now)
                org.spent[key] = _Spent(start, end)
            level = org.levels.get(key[:2])
            if level is None:
                level = org.levels[key[:2]] = _Level()
            yield level, org.spent[key]

    def _read(self, org: _Org, account: Account, now: float, asked: Amounts | None = None) -> Iterator[Sums]:
        """`asked`: how much room is to be there at `requests_free` and `tokens_free`; None: all."""
        for entity, (level, spent) in zip(account.entities, self._lines(org, account, now), strict=True):
            level.window.slide(now)
            yield Sums(
                entity,
                now,
                spent.start,
                spent.end,
                level.open,
                level.window.requests,
                level.window.tokens,
                spent.spent,
                spent.held,
                spent.unconfirmed,
                *_free(level.window, entity, now, asked),
            )

    def _unheard_of(self, org: _Org, ident: str, account: Account, now: float) -> _Open:
        """As if there had been such a hold, and it had been released."""
        hold = org.holds[ident] = _Open(NOTHING, now, now, tuple(self._lines(org, account, now)), "released")
        heappush(org.over, (now + SETTLED, ident))
        return hold

    @staticmethod
    def _take_back(hold: _Open, rate_tokens: int) -> None:
        """What its lines hold of it, or were charged for it by the sweep and nobody confirmed since; what it came to
        counts for its last minute.
        """
        for level, spent in hold.lines:
            if hold.state == "open":
                level.open -= hold.requests
                level.window.correct(int(hold.begun), rate_tokens - hold.amounts.rate_tokens)
                spent.held = _plus(spent.held, _minus(hold.amounts))
            elif hold.state == "swept":
                charged = Amounts(
                    min(hold.amounts.tokens, spent.unconfirmed.tokens),
                    min(hold.amounts.micro_usd, spent.unconfirmed.micro_usd),
                )
                spent.spent = _plus(spent.spent, _minus(charged))
                spent.unconfirmed = _plus(spent.unconfirmed, _minus(charged))


def build(row: Row, clock: Callable[[], float] = time.time) -> MemoryLedger:  # noqa: ARG001 -- nothing is configured
    """What configuration calls `memory`."""
    return MemoryLedger(clock=clock)


def _free(window: Window, entity: Entity, now: float, asked: Amounts | None) -> tuple[int, int]:
    rpm, tpm = entity.limits.rpm, entity.limits.tpm
    if rpm is None and tpm is None:
        return 0, 0  # nobody looks
    if asked is None:
        return window.requests_free(now, 0), window.tokens_free(now, 0)
    return window.requests_free(now, (rpm or 0) - 1), window.tokens_free(now, (tpm or 0) - asked.rate_tokens)


def _plus(one: Amounts, other: Amounts) -> Amounts:
    """Tokens and money; a rate's tokens are the window's."""
    return Amounts(one.tokens + other.tokens, one.micro_usd + other.micro_usd)


def _minus(one: Amounts) -> Amounts:
    return Amounts(-one.tokens, -one.micro_usd)
