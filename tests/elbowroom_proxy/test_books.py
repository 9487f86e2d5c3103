"""Settlements that must arrive, holds that nobody ended, a ledger that cannot be reached."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from elbowroom.budget.hold import Amounts, Granted, Held, Hold, Settled, Standing, Swept
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.errors import LedgerUnavailable
from elbowroom_proxy import books as module
from elbowroom_proxy.books import Books
from elbowroom_proxy.holdmetrics import HoldMetrics
from elbowroom_proxy.ledgerconfig import Ledger as Row
from elbowroom_proxy.stores.ledger_memory import MemoryLedger

ACCOUNT = Account("acme", "UTC", (Entity("org", "acme", Limits(tokens=100, rpm=10, parallel=2)),))


class Flaky(MemoryLedger):
    """A ledger that is down for so many calls."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.down = 0
        self.swept: list[str] = []
        self.looked = asyncio.Event()
        self.closed = False

    def _up(self) -> None:
        if self.down:
            self.down -= 1
            raise LedgerUnavailable("It is down.")

    async def hold(self, hold: Hold, *, seconds: float) -> Held:
        self._up()
        return await super().hold(hold, seconds=seconds)

    async def renew(self, ident: str, account: Account, *, seconds: float) -> bool:
        self._up()
        return await super().renew(ident, account, seconds=seconds)

    async def settle(self, ident: str, account: Account, came_to: Amounts, *, begun: float | None = None) -> Settled:
        self._up()
        return await super().settle(ident, account, came_to, begun=begun)

    async def release(self, ident: str, account: Account) -> None:
        self._up()
        await super().release(ident, account)

    async def sweep(self, org: str) -> Sequence[Swept]:
        self.looked.set()
        self._up()
        self.swept.append(org)
        return await super().sweep(org)

    async def close(self) -> None:
        self.closed = True


class Kept:
    """Books, their ledger and what they counted."""

    def __init__(self, row: Row = Row(), orgs: Sequence[str] = (), ledger: Flaky | None = None) -> None:  # noqa: B008
        self.registry = CollectorRegistry()
        self.ledger = ledger or Flaky()
        self.books = Books(self.ledger, HoldMetrics(self.registry), row, lambda: orgs)

    def counted(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"elbowroom_ledger_{name}_total", labels) or 0

    def shown(self, name: str) -> float | None:
        return self.registry.get_sample_value(f"elbowroom_ledger_{name}")

    async def standing(self, limit: str = "max_tokens") -> Standing:
        found = await self.ledger.standing(ACCOUNT)
        return next(one for one in found if one.limit == limit)


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    made = Kept()
    yield made
    await made.books.close()


def hold(ident: str = "a", tokens: int = 60) -> Hold:
    return Hold(ident, ACCOUNT, Amounts(tokens, 0, tokens))


async def test_what_was_held_is_settled_and_counted(kept: Kept):
    assert isinstance(await kept.books.hold(hold()), Granted)
    assert (await kept.standing()).held == 60
    settled = await kept.books.end("a", ACCOUNT, Amounts(70, 0, 70), time.time())
    assert settled == Settled("settled", Amounts(10, 0, 10))
    found = await kept.standing()
    assert (found.spent, found.held) == (70, 0)
    assert [kept.counted("tokens", what=what) for what in ("held", "settled", "overrun")] == [60, 70, 10]
    assert (await kept.books.end("a", ACCOUNT, Amounts(70, 0, 70), time.time())) == Settled("again")
    assert kept.counted("tokens", what="settled") == 70


async def test_what_came_to_nothing_is_given_back(kept: Kept):
    await kept.books.hold(hold())
    assert await kept.books.end("a", ACCOUNT, None, time.time()) == Settled("settled")
    found = await kept.standing()
    assert (found.spent, found.held) == (0, 0)


async def test_each_limit_that_refuses_is_counted_once(kept: Kept):
    await kept.books.hold(hold("a"))
    await kept.books.hold(hold("b", 10))
    await kept.books.hold(hold("c", 60))
    assert kept.counted("denied", limit="max_tokens") == 1
    assert kept.counted("denied", limit="max_parallel_requests") == 1
    assert kept.counted("tokens", what="held") == 70


async def test_where_limits_stand_is_told_where_anybody_can_say(monkeypatch: pytest.MonkeyPatch, kept: Kept):
    assert [one.limit for one in await kept.books.standing(ACCOUNT)] == [
        "rpm_limit", "max_parallel_requests", "max_tokens",
    ]  # fmt: skip

    async def down(_: Account) -> tuple[Standing, ...]:
        raise LedgerUnavailable("It is down.")

    monkeypatch.setattr(kept.ledger, "standing", down)
    assert await kept.books.standing(ACCOUNT) == ()


async def test_nothing_left_is_seen_without_asking(kept: Kept):
    assert kept.books.glance(ACCOUNT) == ()
    await kept.books.hold(hold("a", 100))
    assert [one.limit for one in kept.books.glance(ACCOUNT)] == ["max_tokens"]


@pytest.mark.parametrize(("spent", "remembered"), [(True, True), (False, False)])
async def test_a_budget_that_is_spent_is_known_for_a_second_one_that_is_held_is_asked_for(spent, remembered):
    now = [1_000_000.0]
    ledger = Flaky(clock=lambda: now[0])
    books = Books(ledger, HoldMetrics(CollectorRegistry()), clock=lambda: now[0])
    await ledger.hold(hold("a", 100), seconds=9)
    if spent:
        await ledger.settle("a", ACCOUNT, Amounts(100))
    assert [one.limit for one in books.glance(ACCOUNT)] == ["max_tokens"]
    await ledger.release("a", ACCOUNT)
    await ledger.rebuild(ACCOUNT, [Amounts()])
    now[0] += module.GLANCE - 0.1
    assert bool(books.glance(ACCOUNT)) is remembered
    now[0] += 0.1
    assert books.glance(ACCOUNT) == ()


async def test_a_budget_that_was_spent_is_there_again_in_its_next_period():
    now = [3_599.9]
    ledger = Flaky(clock=lambda: now[0])
    books = Books(ledger, HoldMetrics(CollectorRegistry()), clock=lambda: now[0])
    account = Account("acme", "UTC", (Entity("org", "acme", Limits(tokens=0, period="1h")),))
    (first,) = books.glance(account)
    now[0] = 3_600.0
    (second,) = books.glance(account)
    assert (first.reset, second.reset) == (3_600, 7_200)


async def test_only_so_many_spent_budgets_are_remembered(monkeypatch: pytest.MonkeyPatch, kept: Kept):
    monkeypatch.setattr(module, "ORGS", 2)
    for name in "abc":
        kept.books.glance(Account(name, "UTC", (Entity("org", name, Limits(tokens=0)),)))
    assert [account.org for account in kept.books._spent] == ["c"]


async def test_a_ledger_that_is_down_is_counted_by_call(kept: Kept):
    kept.ledger.down = 2
    with pytest.raises(LedgerUnavailable):
        await kept.books.hold(hold())
    assert await kept.books.renew("a", ACCOUNT) is False
    await kept.books.hold(hold())
    assert await kept.books.renew("a", ACCOUNT) is True
    assert [kept.counted("failures", call=call) for call in ("hold", "renew", "settle")] == [1, 1, 0]


@pytest.mark.parametrize(("came_to", "call", "spent"), [(Amounts(7, 0, 7), "settle", 7), (None, "release", 0)])
async def test_a_settlement_that_did_not_arrive_is_tried_again(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, came_to: Amounts | None, call: str, spent: int
):
    monkeypatch.setattr(module, "AGAIN", 0.001)
    await kept.books.hold(hold())
    kept.ledger.down = 3
    assert await kept.books.end("a", ACCOUNT, came_to, time.time()) is None
    await asyncio.wait(set(kept.books._work))
    found = await kept.standing()
    assert (found.spent, found.held) == (spent, 0)
    assert (kept.counted("failures", call=call), kept.counted("settlements_lost")) == (1, 0)


async def test_what_the_ledger_never_takes_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "AGAIN", 0.001)
    kept = Kept(Row(hold=0.02))
    await kept.books.hold(hold())
    kept.ledger.down = 10_000
    assert await kept.books.end("a", ACCOUNT, Amounts(7), time.time()) is None
    await asyncio.wait(set(kept.books._work))
    assert kept.counted("settlements_lost") == 1
    await kept.books.close()


async def test_a_ledger_that_breaks_breaks_no_answer(kept: Kept, monkeypatch: pytest.MonkeyPatch):
    await kept.books.hold(hold())

    async def broken(*_: Any, **__: Any) -> Settled:
        raise ValueError("nobody foresaw it")

    monkeypatch.setattr(kept.ledger, "settle", broken)
    assert await kept.books.end("a", ACCOUNT, Amounts(7), time.time()) is None
    assert kept.counted("settlements_lost") == 1


async def test_whoever_stops_tries_once_more_and_waits_no_longer():
    kept = Kept(Row(hold=3600.0))
    await kept.books.hold(hold("a"))
    kept.ledger.down = 1
    assert await kept.books.end("a", ACCOUNT, Amounts(7), time.time()) is None
    await kept.books.close()
    assert (await kept.standing()).spent == 7
    assert kept.ledger.closed
    lost = Kept(Row(hold=3600.0))
    await lost.books.hold(hold("a"))
    lost.ledger.down = 10_000
    assert await lost.books.end("a", ACCOUNT, Amounts(7), time.time()) is None
    await lost.books.close()
    assert lost.counted("settlements_lost") == 1


async def test_work_goes_on_where_whoever_began_it_is_cancelled(kept: Kept):
    gate, done = asyncio.Event(), []

    async def work() -> None:
        await gate.wait()
        done.append(1)

    async def begin() -> None:
        await asyncio.shield(kept.books.work(work()))

    beginner = asyncio.create_task(begin())
    await asyncio.sleep(0)
    beginner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await beginner
    gate.set()
    await asyncio.wait(set(kept.books._work))
    assert done == [1]


async def test_holds_that_nobody_ended_are_swept_and_told():
    clock = [1000.0]
    kept = Kept(Row(sweep=0.001), ["configured"], Flaky(clock=lambda: clock[0]))
    await kept.books.hold(hold("a", 60))
    clock[0] += 61
    kept.ledger.down = 1  # the first look finds nobody there
    await kept.books.start()
    while not kept.counted("swept"):
        kept.ledger.looked.clear()
        await kept.ledger.looked.wait()
    await kept.books.close()
    assert kept.counted("failures", call="sweep") == 1
    assert {"configured", "acme"} == set(kept.ledger.swept)
    found = await kept.standing()
    assert (found.spent, found.held) == (60, 0)


async def test_sweeping_goes_on_whatever_went_wrong_once(monkeypatch: pytest.MonkeyPatch):
    clock = [1000.0]
    kept = Kept(Row(sweep=0.001), ["configured"], Flaky(clock=lambda: clock[0]))
    await kept.books.hold(hold("a", 60))
    clock[0] += 61
    faults = [ValueError("nobody foresaw it")]
    overdue = kept.ledger.overdue

    async def once(org: str) -> int:
        if faults:
            raise faults.pop()
        return await overdue(org)

    monkeypatch.setattr(kept.ledger, "overdue", once)
    await kept.books.start()
    while not kept.counted("swept"):
        kept.ledger.looked.clear()
        await kept.ledger.looked.wait()
    await kept.books.close()
    assert kept.counted("failures", call="sweep") == 1
    assert (await kept.standing()).spent == 60


async def test_only_so_many_organisations_are_remembered(kept: Kept, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "ORGS", 2)
    for number, org in enumerate(("a", "b", "a", "c")):
        await kept.books.hold(Hold(str(number), Account(org, "UTC", ACCOUNT.entities), Amounts()))
    assert list(kept.books._seen) == ["a", "c"]
    assert list(module.nobody()) == []


async def test_holds_under_way_are_shown_until_they_are_ended(kept: Kept):
    await kept.books.hold(hold("a", 10))
    await kept.books.hold(hold("b", 10))
    assert kept.shown("holds_open") == 2
    kept.ledger.down = 1
    await kept.books.end("a", ACCOUNT, Amounts(5), 1000.0)
    assert (kept.shown("holds_open"), kept.shown("up")) == (1, 0)
    await kept.books.end("b", ACCOUNT, None, 1000.0)
    await kept.books.end("never held", ACCOUNT, None, 1000.0)
    assert (kept.shown("holds_open"), kept.shown("up")) == (0, 1)


async def test_holds_that_a_look_cannot_end_are_shown():
    class Stuck(Flaky):
        async def sweep(self, org: str) -> Sequence[Swept]:
            self.looked.set()
            return ()

    clock = [1000.0]
    kept = Kept(Row(sweep=3600), ["acme", "other"], Stuck(clock=lambda: clock[0]))
    await kept.books.hold(hold("a", 10))
    await kept.books.hold(hold("b", 10))
    clock[0] += 61
    assert kept.shown("holds_overdue") == 0
    await kept.books.start()
    await kept.ledger.looked.wait()
    await kept.books.close()
    assert kept.shown("holds_overdue") == 2
