"""One request's budget, on a ledger in memory: what is held, and what it comes to by how far the answer came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from msgspec import structs

from elbowroom.account import trace
from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.usage import Usage
from elbowroom.budget.worst import Worst
from elbowroom.errors import (
    CountUnavailable,
    ElbowroomError,
    InsufficientQuota,
    InvalidRequest,
    LedgerUnavailable,
    Overloaded,
    PaymentRequired,
    RateLimitExceeded,
    UpstreamUnavailable,
    UpstreamUnreached,
)
from elbowroom.needs import NeedCounts
from elbowroom.price import Price
from elbowroom_proxy.budget import Budget
from elbowroom_proxy.ledgerconfig import Ledger as Row
from tests.elbowroom_proxy.test_books import Kept
from tests.walk import MODEL as PLAIN

MODEL = structs.replace(PLAIN, price=Price(1_000_000, 2_000_000))  # micro-USD: 1 and 2 a token
WORST = Worst(50, "counted", 30, 10)
LIMITS = Limits(tokens=100, micro_usd=1_000, rpm=10, tpm=1_000, parallel=2)


def account(limits: Limits = LIMITS) -> Account:
    return Account("acme", "UTC", (Entity("org", "acme", limits), Entity("team", "acme/a", Limits())))


class Answered:
    """A reply's head."""

    headers: Mapping[str, str] = {}

    def __init__(self, status: int) -> None:
        self.status = status

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b""

    async def close(self) -> None: ...


async def reply(status: int = 200) -> Any:
    return Answered(status)


async def failing(error: ElbowroomError) -> Any:
    raise error


async def by_letters(need: NeedCounts) -> tuple[int, ...]:
    return tuple(map(len, need.texts))


async def nobody_can(_: NeedCounts) -> tuple[int, ...]:
    raise CountUnavailable("not today")


class Case(Kept):
    """A budget and its ledger."""

    def __init__(self, row: Row = Row(), limits: Limits = LIMITS, count: Any = by_letters) -> None:  # noqa: B008
        super().__init__(row)
        self.account = account(limits)
        self.budget = self.another("t", count)

    def another(self, ident: str, count: Any = by_letters) -> Budget:
        made = Budget(self.books, ident, count)
        made.of(self.account)
        return made

    async def tokens(self) -> tuple[int, int]:
        """Spent and held."""
        found = next(one for one in await self.ledger.standing(self.account) if one.limit == "max_tokens")
        return found.spent, found.held

    async def held(self) -> int:
        """Requests at once."""
        found = await self.ledger.standing(self.account)
        return next(one for one in found if one.limit == "max_parallel_requests").held

    async def ended(self) -> trace.Settlement:
        await self.budget.settled()
        assert self.budget.settlement is not None
        assert (await self.tokens())[1] == await self.held() == 0
        return self.budget.settlement


@pytest.fixture
def case() -> Case:
    return Case()


def chunk(text: str) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode()


# --- nothing to do ---


@pytest.mark.parametrize("who", [None, account(Limits())])
async def test_who_is_not_limited_holds_nothing(case: Case, who: Account | None):
    budget = Budget(case.books, "t")
    budget.of(who)
    await budget.hold(WORST, MODEL)
    assert (budget.limited, budget.counts, budget.told, budget.headers(), budget.pieces()) == (
        False, False, None, {}, None,
    )  # fmt: skip
    assert await budget.beside(1, 1, None) is None
    assert budget.settle() is None
    await budget.settled()
    await Budget(None, "t").settled()


async def test_what_was_never_held_is_not_settled(case: Case):
    await case.budget.settled()
    assert case.budget.settlement is None


# --- held ---


async def test_a_hold_is_told_to_the_record_and_the_client(case: Case):
    await case.budget.hold(WORST, MODEL)
    assert case.budget.told == trace.Held("granted", 50, "counted", 30, Amounts(80, 110, 60))
    assert (await case.tokens(), await case.held()) == ((0, 80), 1)
    told = case.budget.headers()
    assert (told["x-ratelimit-limit-requests"], told["x-ratelimit-remaining-requests"]) == ("10", "9")
    assert (told["x-ratelimit-limit-tokens"], told["x-ratelimit-remaining-tokens"]) == ("100", "20")
    await case.ended()


async def test_a_hold_that_is_refused_names_its_limits_and_holds_nothing(case: Case):
    await case.budget.hold(WORST, MODEL)
    second = case.another("u")
    with pytest.raises(InsufficientQuota, match=r"org acme: max_tokens 100 tokens, spent 0, held 80, asked 80, reset"):
        await second.hold(WORST, MODEL)
    assert second.told == trace.Held(
        "denied", 50, "counted", 30, Amounts(80, 110, 60), ("org acme: max_tokens",)
    )  # fmt: skip
    assert second.settle() is None
    assert second.headers()["x-ratelimit-remaining-tokens"] == "0"
    assert case.counted("denied", limit="max_tokens") == 1
    assert (await case.tokens())[1] == 80


async def test_the_configuration_chooses_the_status():
    case = Case(Row(budget_status=402), Limits(tokens=10))
    with pytest.raises(PaymentRequired):
        await case.budget.hold(WORST, MODEL)


async def test_who_has_nothing_left_is_refused_at_a_glance():
    case = Case(limits=Limits(parallel=1, tokens=1_000))
    await case.budget.hold(WORST, MODEL)
    late = Budget(case.books, "u")
    with pytest.raises(RateLimitExceeded, match="max_parallel_requests 1 requests at once"):
        late.of(case.account)
    assert (late.glanced, case.budget.glanced) == (True, False)
    assert case.counted("denied", limit="max_parallel_requests") == 1


async def test_what_has_no_known_price_is_refused_where_money_is_limited(case: Case):
    with pytest.raises(InvalidRequest, match="service_tier"):
        await case.budget.hold(structs.replace(WORST, unpriced="service_tier"), MODEL)
    unpaid = Case(limits=Limits(tokens=100, parallel=1))
    await unpaid.budget.hold(structs.replace(WORST, unpriced="service_tier"), MODEL)
    await unpaid.ended()


async def test_who_is_limited_in_requests_alone_holds_no_tokens():
    case = Case(limits=Limits(rpm=5, parallel=1))
    assert (case.budget.limited, case.budget.counts) == (True, False)
    await case.budget.hold(WORST, MODEL)
    assert case.budget.told is not None
    assert case.budget.told.amounts == Amounts()
    assert await case.budget.beside(1, 1, None) is None
    assert case.budget.pieces() is None
    await case.budget.reached(reply())
    case.budget.usage = Usage(40, 20)
    await case.budget.settled()
    assert case.budget.settlement == trace.Settlement("delivered", "settled")
    assert await case.held() == 0


# --- what it comes to ---


async def test_nothing_was_sent(case: Case):
    await case.budget.hold(WORST, MODEL)
    assert await case.ended() == trace.Settlement("nothing", "released")
    assert await case.tokens() == (0, 0)


@pytest.mark.parametrize("status", [400, 401, 429, 499, 503, 529])
async def test_the_upstream_refused_before_it_began(case: Case, status: int):
    await case.budget.hold(WORST, MODEL)
    case.budget.begins()
    await case.budget.reached(reply(status))
    assert (await case.ended()).by == "nothing"
    assert await case.tokens() == (0, 0)


@pytest.mark.parametrize(
    ("error", "by", "spent"),
    [
        (Overloaded("full"), "nothing", 0),
        (UpstreamUnreached("nobody there"), "nothing", 0),
        (UpstreamUnavailable("broken off"), "bound", 80),
    ],
)
async def test_no_answer_came(case: Case, error: ElbowroomError, by: str, spent: int):
    await case.budget.hold(WORST, MODEL)
    case.budget.begins()
    with pytest.raises(type(error)):
        await case.budget.reached(failing(error))
    assert (await case.ended()).by == by
    assert await case.tokens() == (spent, 0)


async def test_an_upstream_that_failed_is_paid_for_the_prompt(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply(500))
    assert await case.ended() == trace.Settlement("delivered", "settled", Amounts(50, 50, 50))


async def test_a_bill_is_what_counts(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    case.budget.usage = Usage(45, 20)
    assert await case.ended() == trace.Settlement("usage", "settled", Amounts(65, 85, 65))


async def test_a_bill_above_what_was_held_is_paid_whole_and_told(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    case.budget.usage = Usage(50, 60)
    assert (await case.ended()).overrun == Amounts(30, 60)
    assert await case.tokens() == (110, 0)
    assert case.counted("tokens", what="overrun") == 30


async def test_without_a_bill_what_came_is_counted(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    came = case.budget.pieces()
    assert came is not None
    came(chunk("12345"))
    came(chunk("678"))
    assert await case.ended() == trace.Settlement("delivered", "settled", Amounts(66, 82, 66))  # and 8 of framing


async def test_a_whole_answer_without_a_bill_is_counted(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    case.budget.came(b'{"choices":[{"message":{"content":"123"}}]}')
    assert (await case.ended()).amounts.tokens == 50 + 3 + 8


async def test_a_stream_that_broke_before_its_first_piece_is_paid_for_its_prompt(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    assert case.budget.pieces() is not None
    assert (await case.ended()).amounts.tokens == 50


@pytest.mark.parametrize("body", [b"<html>", b'{"choices":[{"message":{"audio":{"data":"A"}}}]}'])
async def test_what_cannot_be_read_may_have_been_anything(case: Case, body: bytes):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    case.budget.came(body)
    assert await case.ended() == trace.Settlement("bound", "settled", Amounts(80, 110, 60))


async def test_who_thinks_unseen_may_have_thought_all_that_was_held(case: Case):
    await case.budget.hold(structs.replace(WORST, unseen=True), MODEL)
    await case.budget.reached(reply())
    assert case.budget.pieces() is None
    case.budget.came(b'{"choices":[{"message":{"content":"123"}}]}')
    assert (await case.ended()).by == "bound"


@pytest.mark.parametrize("count", [nobody_can, None])
async def test_what_cannot_be_counted_may_have_been_all_that_was_held(count: Any):
    case = Case(count=count)
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    came = case.budget.pieces()
    assert came is not None
    came(chunk("123"))
    assert (await case.ended()).by == "bound"


async def test_more_than_was_held_cannot_have_been_generated(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    came = case.budget.pieces()
    assert came is not None
    came(chunk("x" * 500))
    assert (await case.ended()).amounts.tokens == 80


# --- once, whatever happens ---


async def test_it_is_settled_once_by_what_was_known_first(case: Case):
    await case.budget.hold(WORST, MODEL)
    await case.budget.reached(reply())
    case.budget.usage = Usage(45, 20)
    first = case.budget.settle()
    case.budget.usage = Usage(1, 1)
    assert case.budget.settle() is first
    await case.ended()
    assert await case.tokens() == (65, 0)


async def test_whoever_is_cancelled_while_it_settles_does_not_stop_it(case: Case):
    await case.budget.hold(WORST, MODEL)
    waiting = asyncio.create_task(case.budget.settled())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await case.ended()).state == "released"


async def test_a_ledger_that_is_down_refuses_or_lets_pass_as_configured(case: Case):
    case.ledger.down = 1
    with pytest.raises(LedgerUnavailable):
        await case.budget.hold(WORST, MODEL)
    assert case.budget.settle() is None
    lenient = Case(Row(on_failure="allow"))
    lenient.ledger.down = 1
    await lenient.budget.hold(WORST, MODEL)
    assert lenient.budget.told == trace.Held("open", 50, "counted", 30, Amounts(80, 110, 60))
    await lenient.budget.reached(reply())
    lenient.budget.usage = Usage(45, 20)
    settled = await lenient.ended()  # it is charged all the same, as soon as somebody can
    assert (settled.state, settled.amounts) == ("unknown", Amounts(65, 85, 65))
    assert await lenient.tokens() == (65, 0)


async def test_a_settlement_that_is_still_to_arrive_is_told_as_such(case: Case):
    await case.budget.hold(WORST, MODEL)
    case.ledger.down = 1
    await case.budget.settled()
    assert case.budget.settlement == trace.Settlement("nothing", "pending")
    await case.books.close()
    assert await case.tokens() == (0, 0)


async def test_a_hold_is_renewed_until_it_is_settled(monkeypatch: pytest.MonkeyPatch):
    case = Case(Row(hold=0.03))
    await case.budget.hold(WORST, MODEL)
    renewed = asyncio.Event()
    was, calls = case.books.renew, []

    async def renew(*given: Any) -> bool:
        calls.append(given)
        if len(calls) == 3:
            renewed.set()
        return await was(*given)

    monkeypatch.setattr(case.books, "renew", renew)
    await renewed.wait()
    await case.ended()
    assert calls[0] == ("t", case.account)
    timer = case.budget._renewal
    assert timer is not None
    assert timer.cancelled()


# --- beside the answer ---


async def test_a_call_beside_the_answer_is_held_and_is_no_request_of_its_own(case: Case):
    beside = await case.budget.beside(30, 10, MODEL.price)
    assert beside is not None
    assert (await case.tokens(), await case.held()) == ((0, 40), 0)
    beside.end(Usage(20, 5))
    await asyncio.wait(set(case.books._work))
    assert await case.tokens() == (25, 0)


@pytest.mark.parametrize(
    ("end", "spent"), [({}, 40), ({"asked": False}, 0), ({"micro_usd": 7}, 0), ({"usage": Usage(1, 2)}, 3)]
)
async def test_what_a_call_beside_the_answer_comes_to(case: Case, end: dict[str, Any], spent: int):
    beside = await case.budget.beside(30, 10, MODEL.price)
    assert beside is not None
    beside.end(**end)
    await asyncio.wait(set(case.books._work))
    assert await case.tokens() == (spent, 0)
    found = next(one for one in await case.ledger.standing(case.account) if one.limit == "max_budget")
    assert (found.spent > 0) == ("asked" not in end)


async def test_a_call_for_which_there_is_not_enough_is_refused(case: Case):
    with pytest.raises(InsufficientQuota, match="max_tokens"):
        await case.budget.beside(90, 20, None)
    with pytest.raises(InsufficientQuota, match="max_budget"):
        await case.budget.beside(0, 0, None, 5_000)


async def test_a_call_beside_the_answer_needs_the_ledger_as_the_answer_does(case: Case):
    case.ledger.down = 1
    with pytest.raises(LedgerUnavailable):
        await case.budget.beside(1, 1, None)
    lenient = Case(Row(on_failure="allow"))
    lenient.ledger.down = 1
    beside = await lenient.budget.beside(30, 10, None)
    assert beside is not None
    beside.end(Usage(20, 5))
    await asyncio.wait(set(lenient.books._work))
    assert await lenient.tokens() == (25, 0)


async def test_an_answer_that_nothing_was_held_for_tells_the_limits_and_asks_once(monkeypatch: pytest.MonkeyPatch):
    case = Case()
    assert case.budget.headers() == {}
    await case.budget.look()
    assert case.budget.headers()["x-ratelimit-remaining-tokens"] == "100"
    told = case.another("u")
    await told.hold(WORST, MODEL)
    remaining = told.headers()["x-ratelimit-remaining-tokens"]
    monkeypatch.setattr(case.ledger, "standing", None)  # whoever asks fails
    for budget in (case.budget, told, Budget(case.books, "nobody's")):
        await budget.look()
    assert told.headers()["x-ratelimit-remaining-tokens"] == remaining
