"""Every file `ledger_<name>.py` in `stores/` is one ledger of one behaviour; those in Redis on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from elbowroom.budget.hold import Amounts, Denied, Granted, Held, Hold, Settled, Swept
from elbowroom.budget.limits import Account, Limits
from elbowroom.budget.sums import LONGEST, MOST, TOMBSTONE
from elbowroom_proxy.ledgerconfig import LEDGERS
from elbowroom_proxy.ports import Ledger
from tests.ledgers import NOON, OPEN, Clock, account

DAY = 86_400


class Opened(NamedTuple):
    ledger: Ledger
    clock: Clock


@pytest.fixture(params=sorted(LEDGERS))
async def opened(request: pytest.FixtureRequest, redis_url: str) -> AsyncIterator[Opened]:
    ledger, clock = OPEN[request.param](redis_url)
    await ledger.start()
    yield Opened(ledger, clock)
    await ledger.close()


async def hold(
    opened: Opened,
    ident: str,
    account: Account,
    tokens: int = 0,
    micro_usd: int = 0,
    rate: int = 0,
    seconds: float = 60,
) -> Held:
    return await opened.ledger.hold(Hold(ident, account, Amounts(tokens, micro_usd, rate)), seconds=seconds)


async def spent_and_held(opened: Opened, account: Account) -> list[tuple[int, int, int, int]]:
    """Of each level: spent tokens and micro-USD, held tokens and micro-USD."""
    levels = await opened.ledger.sums(account)
    return [(one.spent.tokens, one.spent.micro_usd, one.held.tokens, one.held.micro_usd) for one in levels]


def test_each_is_known_to_the_tests():
    assert set(OPEN) == LEDGERS


# --- all or nothing ---------------------------------------------------------------------------------------------------


async def test_a_hold_takes_from_every_level(opened: Opened):
    three = account(Limits(tokens=100), Limits(micro_usd=50), Limits())
    assert isinstance(await hold(opened, "a", three, 60, 20), Granted)
    assert await spent_and_held(opened, three) == [(0, 0, 60, 20)] * 3


async def test_or_from_none_and_every_limit_that_refuses_is_named(opened: Opened):
    three = account(Limits(tokens=100), Limits(micro_usd=50, period="1d"), Limits(tokens=65))
    await hold(opened, "a", three, 60, 20)
    await opened.ledger.settle("a", three, Amounts(50, 20))
    await hold(opened, "b", three, 10, 15)
    before = await spent_and_held(opened, three)
    denied = await hold(opened, "c", three, 30, 16)
    assert isinstance(denied, Denied)
    said = [(one.entity, one.kind, one.limit, one.most, one.spent, one.held, one.asked) for one in denied.refused]
    assert said == [
        ("acme/support", "team", "max_budget", 50, 20, 15, 16),
        ("acme/support/bot", "key", "max_tokens", 65, 50, 10, 30),
    ]
    assert [one.reset for one in denied.refused] == [NOON + DAY / 2, NOON + DAY / 2 + 30 * DAY]
    assert [one.limit for one in denied.standing] == ["max_tokens", "max_budget", "max_tokens"]
    assert await spent_and_held(opened, three) == before


async def test_of_fifty_at_once_exactly_as_many_pass_as_there_is_room_for(opened: Opened):
    three = account(Limits(tokens=10_000), Limits(tokens=300), Limits())
    answers = await asyncio.gather(*(hold(opened, f"{n}", three, 100) for n in range(50)))
    assert sum(isinstance(one, Granted) for one in answers) == 3
    assert await spent_and_held(opened, three) == [(0, 0, 300, 0)] * 3


@pytest.mark.parametrize("limit", ["rpm", "tpm", "parallel", "tokens"])
async def test_zero_is_nothing_and_none_is_no_limit(opened: Opened, limit: str):
    none = account(Limits(**{limit: 0}))  # type: ignore[arg-type]
    assert isinstance(await hold(opened, "a", none, 1, 1, 1), Denied)
    assert isinstance(await hold(opened, "b", account(Limits()), MOST, MOST, MOST), Granted)


async def test_no_money_is_nothing_but_what_is_free(opened: Opened):
    broke = account(Limits(micro_usd=0))
    assert isinstance(await hold(opened, "a", broke, 1, 1), Denied)
    assert isinstance(await hold(opened, "b", broke, 1, 0), Granted)


async def test_organisations_do_not_know_each_other(opened: Opened):
    one, other = account(Limits(tokens=5)), account(Limits(tokens=5), org="acm")
    assert isinstance(await hold(opened, "a", one, 5), Granted)
    assert isinstance(await hold(opened, "a", other, 5), Granted)
    await opened.ledger.settle("a", other, Amounts(1))
    assert await spent_and_held(opened, one) == [(0, 0, 5, 0)]


@pytest.mark.parametrize("name", ["{acme}", "}{", "a b", "a\nb", "Ünïcøde/组织", ""])
async def test_any_name_is_a_name(opened: Opened, name: str):
    odd = account(Limits(tokens=5), Limits(), Limits(), org=name)
    assert isinstance(await hold(opened, "a", odd, 5), Granted)
    assert await opened.ledger.settle("a", odd, Amounts(3)) == Settled("settled")
    assert await spent_and_held(opened, odd) == [(3, 0, 0, 0)] * 3


async def test_large_sums_are_exact(opened: Opened):
    wide = account(Limits(tokens=MOST, micro_usd=MOST))
    assert isinstance(await hold(opened, "a", wide, MOST - 1, MOST - 1), Granted)
    assert isinstance(await hold(opened, "b", wide, 2, 0), Denied)
    assert isinstance(await hold(opened, "c", wide, 1, 1), Granted)
    await opened.ledger.settle("a", wide, Amounts(MOST - 3, MOST - 1))
    assert await spent_and_held(opened, wide) == [(MOST - 3, MOST - 1, 1, 1)]


@pytest.mark.parametrize("amounts", [Amounts(-1), Amounts(0, MOST + 1)])
async def test_what_no_request_can_come_to_is_refused(opened: Opened, amounts: Amounts):
    some = account(Limits())
    with pytest.raises(ValueError, match="is not from 0"):
        await opened.ledger.hold(Hold("a", some, amounts), seconds=60)
    with pytest.raises(ValueError, match="is not from 0"):
        await opened.ledger.settle("a", some, amounts)
    assert await spent_and_held(opened, some) == [(0, 0, 0, 0)]


# --- the ends of a hold -----------------------------------------------------------------------------------------------


async def test_a_hold_said_twice_is_one(opened: Opened):
    some = account(Limits(tokens=5, parallel=1))
    first, second = await hold(opened, "a", some, 5), await hold(opened, "a", some, 5)
    assert isinstance(first, Granted)
    assert isinstance(second, Granted)
    assert first.standing == second.standing
    assert await spent_and_held(opened, some) == [(0, 0, 5, 0)]


async def test_a_settlement_said_twice_is_one_and_the_first_counts(opened: Opened):
    some = account(Limits(tokens=50))
    await hold(opened, "a", some, 40, 8)
    assert await opened.ledger.settle("a", some, Amounts(30, 5)) == Settled("settled")
    assert await opened.ledger.settle("a", some, Amounts(9, 9)) == Settled("again")
    await opened.ledger.release("a", some)
    assert await spent_and_held(opened, some) == [(30, 5, 0, 0)]


async def test_a_release_said_twice_is_one(opened: Opened):
    some = account(Limits(tokens=50, parallel=1))
    await hold(opened, "a", some, 40)
    await opened.ledger.release("a", some)
    await opened.ledger.release("a", some)
    assert await spent_and_held(opened, some) == [(0, 0, 0, 0)]
    assert isinstance(await hold(opened, "b", some, 50), Granted)


async def test_the_id_of_a_hold_that_is_over_is_not_used_again(opened: Opened):
    some = account(Limits(tokens=50))
    for ident, end in (("a", opened.ledger.release), ("b", None)):
        await hold(opened, ident, some, 1)
        await (end(ident, some) if end else opened.ledger.settle(ident, some, Amounts(1)))
        with pytest.raises(ValueError, match=f"the hold {ident} is over"):
            await hold(opened, ident, some, 1)


async def test_a_hold_that_comes_after_its_release_holds_nothing(opened: Opened):
    some = account(Limits(tokens=50))
    await opened.ledger.release("a", some)
    with pytest.raises(ValueError, match="is over"):
        await hold(opened, "a", some, 1)
    assert await spent_and_held(opened, some) == [(0, 0, 0, 0)]
    # Whoever went on without the ledger is charged for it all the same, once.
    assert await opened.ledger.settle("a", some, Amounts(7)) == Settled("unknown")
    assert await opened.ledger.settle("a", some, Amounts(7)) == Settled("again")
    assert await spent_and_held(opened, some) == [(7, 0, 0, 0)]


async def test_what_came_to_more_than_was_held_is_recorded_whole(opened: Opened):
    some = account(Limits(tokens=50))
    await hold(opened, "a", some, 40, 8, 40)
    assert await opened.ledger.settle("a", some, Amounts(60, 3, 41)) == Settled("settled", Amounts(20, 0, 1))
    assert await spent_and_held(opened, some) == [(60, 3, 0, 0)]
    assert isinstance(await hold(opened, "b", some, 0), Denied)


async def test_a_settlement_that_nobody_held_for_is_charged_once(opened: Opened):
    some = account(Limits(tokens=50), Limits())
    assert await opened.ledger.settle("a", some, Amounts(30, 5)) == Settled("unknown")
    assert await opened.ledger.settle("a", some, Amounts(30, 5)) == Settled("again")
    assert await spent_and_held(opened, some) == [(30, 5, 0, 0)] * 2


async def test_one_that_is_too_old_to_be_told_from_one_that_is_forgotten_is_not_charged(opened: Opened):
    some = account(Limits(tokens=50))
    old = await opened.ledger.settle("a", some, Amounts(30), begun=NOON - TOMBSTONE - 1)
    assert old == Settled("too_old")
    assert await opened.ledger.settle("b", some, Amounts(1), begun=NOON - TOMBSTONE + 1) == Settled("unknown")
    assert await spent_and_held(opened, some) == [(1, 0, 0, 0)]


async def test_a_hold_that_nobody_hears_of_again_is_charged_in_full_and_said_to_be_unconfirmed(opened: Opened):
    some = account(Limits(tokens=100, parallel=1), Limits())
    await hold(opened, "a", some, 40, 8, 4, seconds=60)
    opened.clock.move(59.9)
    assert await opened.ledger.sweep("acme") == []
    opened.clock.move(0.1)
    assert await opened.ledger.sweep("acme") == [Swept("a", Amounts(40, 8, 4))]
    assert await opened.ledger.sweep("acme") == []
    assert await spent_and_held(opened, some) == [(40, 8, 0, 0)] * 2
    assert {one.unconfirmed for one in await opened.ledger.sums(some)} == {Amounts(40, 8)}
    assert [one.open for one in await opened.ledger.sums(some)] == [0, 0]


async def test_a_late_settlement_replaces_that_charge_once(opened: Opened):
    some = account(Limits(tokens=100), Limits())
    await hold(opened, "a", some, 40, 8, seconds=1)
    await hold(opened, "b", some, 30, 1, seconds=1)
    opened.clock.move(2)
    assert {one.id for one in await opened.ledger.sweep("acme")} == {"a", "b"}
    opened.clock.move(TOMBSTONE - 10)
    assert await opened.ledger.settle("a", some, Amounts(41, 2)) == Settled("late", Amounts(1))
    assert await opened.ledger.settle("a", some, Amounts(41, 2)) == Settled("again")
    noon = await opened.ledger.sums(some)
    assert [(one.spent, one.held, one.unconfirmed) for one in noon] == [(Amounts(71, 3), Amounts(), Amounts(30, 1))] * 2


async def test_a_late_release_takes_the_charge_back(opened: Opened):
    some = account(Limits(tokens=100))
    await hold(opened, "a", some, 40, 8, seconds=1)
    opened.clock.move(2)
    await opened.ledger.sweep("acme")
    await opened.ledger.release("a", some)
    await opened.ledger.release("a", some)
    assert await spent_and_held(opened, some) == [(0, 0, 0, 0)]


async def test_a_sweep_of_more_than_a_few(opened: Opened):
    some = account(Limits())
    await asyncio.gather(*(hold(opened, f"{n}", some, 1, seconds=n % 2) for n in range(450)))
    assert len(await opened.ledger.sweep("acme")) == 225
    assert await spent_and_held(opened, some) == [(225, 0, 225, 0)]
    assert await opened.ledger.sweep("nobody") == []


async def test_what_is_past_its_end_and_not_swept_is_known(opened: Opened):
    some = account(Limits())
    await hold(opened, "a", some, 40, seconds=60)
    await hold(opened, "b", some, 40, seconds=90)
    await hold(opened, "c", some, 40, seconds=60)
    await opened.ledger.release("c", some)
    assert await opened.ledger.overdue("acme") == 0
    opened.clock.move(61)
    assert await opened.ledger.overdue("acme") == 1
    await opened.ledger.sweep("acme")
    assert await opened.ledger.overdue("acme") == 0
    opened.clock.move(30)
    assert await opened.ledger.overdue("acme") == 1
    assert await opened.ledger.overdue("nobody") == 0


async def test_who_renews_is_not_swept_for_a_day(opened: Opened):
    some = account(Limits(tokens=100))
    await hold(opened, "a", some, 40, seconds=60)
    for _ in range(3):
        opened.clock.move(59)
        assert await opened.ledger.renew("a", some, seconds=60)
    opened.clock.move(59)
    assert await opened.ledger.sweep("acme") == []
    assert await opened.ledger.renew("a", some, seconds=10 * LONGEST)
    opened.clock.move(LONGEST - 4 * 59 - 1)
    assert await opened.ledger.sweep("acme") == []
    opened.clock.move(1)
    assert len(await opened.ledger.sweep("acme")) == 1
    assert not await opened.ledger.renew("a", some, seconds=60)
    assert not await opened.ledger.renew("nobody's", some, seconds=60)


async def test_no_hold_is_made_for_longer_than_a_day(opened: Opened):
    some = account(Limits())
    await hold(opened, "a", some, 1, seconds=10 * LONGEST)
    opened.clock.move(LONGEST)
    assert len(await opened.ledger.sweep("acme")) == 1


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("period", "seconds"), [("1h", 3600), ("1d", DAY / 2), ("1mo", DAY / 2 + 30 * DAY)])
async def test_a_new_period_begins_at_nothing_and_a_hold_settles_in_its_own(opened: Opened, period, seconds):
    some = account(Limits(tokens=100, period=period), Limits(period="1mo"))
    opened.clock.set(NOON + seconds - 1)
    for ident in ("settled", "released", "swept"):
        await hold(opened, ident, some, 30)
    assert isinstance(await hold(opened, "d", some, 30), Denied)
    opened.clock.move(1)
    new = (await opened.ledger.sums(some))[0]
    assert (new.start, new.spent, new.held, new.open) == (NOON + seconds, Amounts(), Amounts(), 3)
    assert isinstance(await hold(opened, "d", some, 100), Granted)
    await opened.ledger.settle("settled", some, Amounts(20))
    await opened.ledger.release("released", some)
    opened.clock.move(100)
    assert {one.id for one in await opened.ledger.sweep("acme")} == {"swept", "d"}
    assert await opened.ledger.settle("swept", some, Amounts(3)) == Settled("late")
    assert (await spent_and_held(opened, some))[0] == (100, 0, 0, 0)
    opened.clock.move(-102)
    assert (await spent_and_held(opened, some))[0] == (23, 0, 0, 0)


async def test_periods_are_the_organisations_own(opened: Opened):
    there = account(Limits(tokens=1, period="1d"), timezone="Asia/Kathmandu")
    denied = await hold(opened, "a", there, 2)
    assert isinstance(denied, Denied)
    assert denied.refused[0].reset == NOON + (6 * 60 + 15) * 60  # it is 17:45 there


async def test_requests_and_tokens_of_a_minute(opened: Opened):
    some = account(Limits(rpm=2), Limits(tpm=100))
    opened.clock.set(NOON + 0.9)
    await hold(opened, "a", some, rate=60)
    opened.clock.move(10)
    await hold(opened, "b", some, rate=40)
    denied = await hold(opened, "c", some, rate=70)
    assert isinstance(denied, Denied)
    said = [(one.limit, one.spent, one.held, one.asked, one.reset) for one in denied.refused]
    assert said == [("rpm_limit", 2, 0, 1, NOON + 61), ("tpm_limit", 100, 0, 70, NOON + 71)]
    denied = await hold(opened, "d", some, rate=200)
    assert isinstance(denied, Denied)
    assert [one.reset for one in denied.refused] == [NOON + 61, NOON + 71]
    opened.clock.set(NOON + 60.95)
    assert isinstance(await hold(opened, "e", some, rate=60), Denied)
    opened.clock.set(NOON + 61)
    assert isinstance(await hold(opened, "f", some, rate=60), Granted)
    opened.clock.set(NOON + 1_000_000)
    assert [(one.spent, one.reset) for one in await opened.ledger.standing(some)] == [(0, NOON + 1_000_000)] * 2
    assert isinstance(await hold(opened, "g", some, rate=100), Granted)


async def test_a_rate_counts_what_it_came_to_and_a_request_that_was_let_through(opened: Opened):
    some = account(Limits(rpm=10, tpm=1000))
    for ident in ("a", "b", "c"):
        await hold(opened, ident, some, rate=300)
    await opened.ledger.settle("a", some, Amounts(rate_tokens=100))
    await opened.ledger.release("b", some)
    assert [one.spent for one in await opened.ledger.standing(some)] == [3, 400]
    opened.clock.move(61)
    await opened.ledger.settle("c", some, Amounts(rate_tokens=500))  # it has gone out
    assert [one.spent for one in await opened.ledger.standing(some)] == [0, 0]
    assert isinstance(await hold(opened, "d", some, rate=1000), Granted)


async def test_requests_at_once(opened: Opened):
    some = account(Limits(parallel=2), Limits())
    await hold(opened, "a", some)
    granted = await hold(opened, "b", some)
    assert [(one.limit, one.held, one.asked) for one in granted.standing] == [("max_parallel_requests", 2, 1)]
    denied = await hold(opened, "c", some)
    assert isinstance(denied, Denied)
    assert [(one.limit, one.held, one.asked, one.reset) for one in denied.refused] == [
        ("max_parallel_requests", 2, 1, NOON)
    ]
    await opened.ledger.release("a", some)
    assert isinstance(await hold(opened, "d", some), Granted)


async def test_a_call_beside_an_answer_is_no_request_of_its_own(opened: Opened):
    some = account(Limits(parallel=1, rpm=1, tokens=100, tpm=100), Limits())
    await hold(opened, "a", some, 30, rate=30)
    beside = Hold("b", some, Amounts(40, 0, 40), requests=0)
    granted = await opened.ledger.hold(beside, seconds=60)
    assert isinstance(granted, Granted)
    stands = {one.limit: (one.spent, one.held, one.asked) for one in granted.standing}
    assert stands == {
        "max_parallel_requests": (0, 1, 0), "rpm_limit": (1, 0, 0), "tpm_limit": (70, 0, 40), "max_tokens": (0, 70, 40),
    }  # fmt: skip
    denied = await opened.ledger.hold(Hold("c", some, Amounts(40, 0, 40), requests=0), seconds=60)
    assert isinstance(denied, Denied)
    assert {one.limit for one in denied.refused} == {"tpm_limit", "max_tokens"}
    await opened.ledger.settle("b", some, Amounts(10, 0, 10))
    assert [one.open for one in await opened.ledger.sums(some)] == [1, 1]
    await opened.ledger.release("a", some)
    assert [one.open for one in await opened.ledger.sums(some)] == [0, 0]
    assert await spent_and_held(opened, some) == [(10, 0, 0, 0)] * 2


async def test_a_clock_that_goes_back_admits_no_more_than_before(opened: Opened):
    some = account(Limits(rpm=2))
    await hold(opened, "a", some)
    opened.clock.move(-5)
    await hold(opened, "b", some)
    assert isinstance(await hold(opened, "c", some), Denied)
    opened.clock.move(61)
    assert isinstance(await hold(opened, "d", some), Granted)
    assert isinstance(await hold(opened, "e", some), Denied)
    opened.clock.move(5)
    assert isinstance(await hold(opened, "f", some), Granted)


async def test_a_clock_that_goes_back_a_day_and_forward_again_leaves_nothing_behind(opened: Opened):
    some = account(Limits(rpm=500, tpm=500))
    for minutes in (1440, 0, 3, 1443, 1446):
        opened.clock.set(NOON + 60 * minutes)
        for second in range(0, 60, 7):
            opened.clock.move(7)
            assert isinstance(await hold(opened, f"{minutes}-{second}", some, rate=2), Granted)
    assert [one.spent for one in await opened.ledger.standing(some)] == [9, 18]
    opened.clock.move(61)
    assert [one.spent for one in await opened.ledger.standing(some)] == [0, 0]
    last = await hold(opened, "last", some, rate=500)
    assert [one.spent for one in last.standing] == [1, 500]


# --- looking, and putting right ---------------------------------------------------------------------------------------


async def test_where_every_limit_stands(opened: Opened):
    three = account(Limits(rpm=9, tpm=900), Limits(parallel=5), Limits(tokens=70, micro_usd=8, period="1h"))
    await hold(opened, "a", three, 20, 3, 200)
    await opened.ledger.settle("a", three, Amounts(10, 2, 100))
    await hold(opened, "b", three, 20, 3, 200)
    said = [
        (one.entity, one.limit, one.most, one.spent, one.held, one.asked) for one in await opened.ledger.standing(three)
    ]
    assert said == [
        ("acme", "rpm_limit", 9, 2, 0, 0),
        ("acme", "tpm_limit", 900, 300, 0, 0),
        ("acme/support", "max_parallel_requests", 5, 0, 1, 0),
        ("acme/support/bot", "max_tokens", 70, 10, 20, 0),
        ("acme/support/bot", "max_budget", 8, 2, 3, 0),
    ]
    assert [one.reset - NOON for one in await opened.ledger.standing(three)] == [61, 61, 0, 3600, 3600]


async def test_a_glance_sees_what_the_last_answer_leaves_to_nobody(opened: Opened):
    full = account(Limits(rpm=2, tokens=50), Limits(parallel=1, micro_usd=5))
    assert opened.ledger.glance(full) == ()
    await hold(opened, "a", full, 10, 5)
    assert [one.limit for one in opened.ledger.glance(full)] == ["max_parallel_requests"]
    await opened.ledger.settle("a", full, Amounts(10, 5))
    assert opened.ledger.glance(full) == ()  # what is free may still be asked for
    await hold(opened, "b", full, 40)
    await hold(opened, "c", full, 1)
    assert {one.limit for one in opened.ledger.glance(full)} == {"rpm_limit", "max_tokens", "max_parallel_requests"}
    opened.clock.move(61)
    assert "rpm_limit" not in {one.limit for one in opened.ledger.glance(full)}


@pytest.mark.parametrize("limits", [Limits(rpm=0), Limits(tpm=0), Limits(parallel=0), Limits(tokens=0)])
async def test_a_glance_sees_where_nothing_may_ever_pass(opened: Opened, limits: Limits):
    nothing = account(limits)
    await hold(opened, "a", nothing, 1)
    assert len(opened.ledger.glance(nothing)) == 1


async def test_a_glance_knows_todays_limits(opened: Opened):
    await hold(opened, "a", account(Limits(parallel=1)))
    assert opened.ledger.glance(account(Limits(parallel=2))) == ()
    assert len(opened.ledger.glance(account(Limits(parallel=1)))) == 1


async def test_sums_are_restated_from_outside(opened: Opened):
    three = account(Limits(tokens=100), Limits(), Limits(period="1h"))
    await hold(opened, "a", three, 10, 1)
    await hold(opened, "swept", three, 5, 1, seconds=0)
    await opened.ledger.sweep("acme")
    await opened.ledger.rebuild(three, [Amounts(70, 7), Amounts(60, 6), Amounts(50, 5)])
    assert await spent_and_held(opened, three) == [(70, 7, 10, 1), (60, 6, 10, 1), (50, 5, 10, 1)]
    assert {one.unconfirmed for one in await opened.ledger.sums(three)} == {Amounts()}
    # What was restated knows of the sweep's charge, or knows better: it is not taken off.
    await opened.ledger.settle("swept", three, Amounts(2))
    assert isinstance(await hold(opened, "b", three, 19), Denied)
    assert isinstance(await hold(opened, "b", three, 18), Granted)
    await opened.ledger.settle("a", three, Amounts(1, 1))
    assert (await spent_and_held(opened, three))[0] == (73, 8, 18, 0)


async def test_what_is_settled_while_sums_are_restated_is_not_lost(opened: Opened):
    three = account(Limits(tokens=100), Limits(), Limits(period="1h"))
    await hold(opened, "a", three, 10, 1)
    await hold(opened, "swept", three, 5, 2, seconds=0)
    await opened.ledger.sweep("acme")
    was = await opened.ledger.sums(three)
    await opened.ledger.settle("a", three, Amounts(7, 1))
    # The key's are left as they are, with what is unconfirmed of them.
    await opened.ledger.rebuild(three, [Amounts(70, 7), Amounts(3, 1), Amounts(5, 2)], was)
    assert await spent_and_held(opened, three) == [(77, 8, 0, 0), (10, 2, 0, 0), (12, 3, 0, 0)]
    assert [one.unconfirmed for one in await opened.ledger.sums(three)] == [Amounts(), Amounts(), Amounts(5, 2)]
    await opened.ledger.settle("swept", three, Amounts(1))
    assert (await spent_and_held(opened, three))[1:] == [(11, 2, 0, 0), (8, 1, 0, 0)]


async def test_what_was_read_before_its_period_ended_is_restated_in_that(opened: Opened):
    hour = account(Limits(tokens=100, period="1h"))
    was = await opened.ledger.sums(hour)
    opened.clock.move(3_600)
    await opened.ledger.rebuild(hour, [Amounts(70)], was)
    assert await spent_and_held(opened, hour) == [(0, 0, 0, 0)]
    opened.clock.move(-3_600)
    assert await spent_and_held(opened, hour) == [(70, 0, 0, 0)]


async def test_limits_that_come_later_know_what_was_spent_before(opened: Opened):
    await hold(opened, "a", account(Limits()), 40)
    await opened.ledger.settle("a", account(Limits()), Amounts(40))
    assert isinstance(await hold(opened, "b", account(Limits(tokens=50)), 11), Denied)


async def test_it_is_well(opened: Opened):
    assert await opened.ledger.healthy()
    assert opened.ledger.faults() == ()
