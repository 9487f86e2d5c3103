"""One request's dealings with its budgets: looked at, held, renewed while the answer runs, settled exactly once.

Knows: what may be given back and what is charged for, by how far the answer came; what the record and the client are
told of it.
Does not know: how much is held (`worst`), where sums are kept (`books`), HTTP, or what the answer says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from msgspec import structs

from elbowroom.account import trace
from elbowroom.budget.cost import cost, dearest
from elbowroom.budget.hold import Amounts, Denied, Hold, Standing
from elbowroom.budget.limits import Account
from elbowroom.budget.usage import Usage
from elbowroom.budget.worst import Worst
from elbowroom.errors import ElbowroomError, InvalidRequest, LedgerUnavailable, Overloaded, UpstreamUnreached
from elbowroom.needs import NeedCounts
from elbowroom.price import Price
from elbowroom.records import Model
from elbowroom_proxy import quota
from elbowroom_proxy.books import Books
from elbowroom_proxy.delivered import Delivered
from elbowroom_proxy.ports import Reply
from elbowroom_proxy.wire import BUSY

RENEWALS = 3  # in the time that a hold lasts

Counting = Callable[[NeedCounts], Awaitable[tuple[Any, ...]]]


class _Purse(NamedTuple):
    """Whose money it is, and who keeps it."""

    books: Books
    account: Account

    def refusal(self, refused: tuple[Standing, ...]) -> ElbowroomError:
        return quota.refusal(refused, self.books.row.budget_status)


class _Made(NamedTuple):
    """A hold that stands, or that would if anybody could say."""

    purse: _Purse
    worst: Worst
    model: Model
    amounts: Amounts
    begun: float  # seconds since 1970


class _Ending(NamedTuple):
    """What a request came to, and how that is known; no amounts: it is given back."""

    by: str
    amounts: Amounts | None


class Budget:
    """One request's. Where nobody is charged, or nothing is limited, every step does nothing."""

    usage: Usage | None = None  # as it was billed
    told: trace.Held | None = None
    settlement: trace.Settlement | None = None
    _sent = False  # a model may have begun
    _status: int | None = None  # of its answer
    _delivered: Delivered | None = None  # what came of it, where nothing else can have been generated
    _purse: _Purse | None = None
    _made: _Made | None = None
    _standing: tuple[Standing, ...] = ()
    _refused: tuple[Standing, ...] = ()
    _renewal: asyncio.TimerHandle | None = None
    _settling: asyncio.Task[None] | None = None
    _asides = 0
    _asked = False  # the ledger, where the limits stand

    def __init__(self, books: Books | None, ident: str, count: Counting | None = None) -> None:
        """`ident`: the trace's. `count` says what texts are in a model's tokens; None: nobody can, and what came is not
        counted.
        """
        self._books = books
        self._ident = ident
        self._count = count

    @property
    def glanced(self) -> bool:
        """Whether it was refused before anything was read."""
        return bool(self._refused) and self.told is None

    @property
    def limited(self) -> bool:
        """Whether anything must be held."""
        return self._purse is not None

    @property
    def counts(self) -> bool:
        """Whether what is sent must be counted, and what is billed told."""
        return self._purse is not None and self._purse.account.by_tokens

    def of(self, account: Account | None) -> None:
        """Who is charged. Raises what `quota.refusal` says where it is known already that nothing would be held."""
        if self._books is None or account is None or not account.limited:
            return
        self._purse = purse = _Purse(self._books, account)
        refused = purse.books.glance(account)
        if refused:
            purse.books.denied(refused)
            self._refused = self._standing = refused
            raise purse.refusal(refused)

    async def hold(self, worst: Worst, model: Model) -> None:
        """Holds at every level. Raises what `quota.refusal` says, `LedgerUnavailable`, and `InvalidRequest` for what
        money could not be held for.
        """
        purse = self._purse
        if purse is None:
            return
        dear = worst.unpriced
        if dear is not None and purse.account.by_money:
            raise InvalidRequest(f"What {dear} asks for has a price that is not known here.", param=dear)
        amounts = worst.amounts(model.price) if self.counts else Amounts()
        made = _Made(purse, worst, model, amounts, purse.books.clock())
        self._asked = True
        try:
            held = await purse.books.hold(Hold(self._ident, purse.account, amounts))
        except LedgerUnavailable:
            if purse.books.row.on_failure == "deny":
                raise
            self._made, self.told = made, _told("open", made)
            return
        self._standing = held.standing
        if isinstance(held, Denied):
            self._refused, self.told = held.refused, _told("denied", made, held.refused)
            raise purse.refusal(held.refused)
        self._made, self.told = made, _told("granted", made)
        self._renew_later(made)

    async def look(self) -> None:
        """Asks where the limits stand, for the headers of an answer that nothing was held for."""
        if self._purse is not None and not self._asked and not self._standing:
            self._asked = True
            self._standing = await self._purse.books.standing(self._purse.account)

    def begins(self) -> None:
        """The request is on its way: from now on a model may generate."""
        self._sent = True

    async def reached(self, sending: Awaitable[Reply]) -> Reply:
        """The reply. Raises what the upstream does."""
        try:
            reply = await sending
        except (Overloaded, UpstreamUnreached):
            self._sent = False
            raise
        self._sent, self._status = True, reply.status
        return reply

    def pieces(self) -> Callable[[bytes], None] | None:
        """Who is to be told of every chunk of the answer; None: nobody need be."""
        if self._made is None or self._made.worst.unseen or not self.counts:
            return None
        self._delivered = Delivered()
        return self._delivered.chat

    def events(self) -> Callable[[bytes], None] | None:
        """The same for the events of a response."""
        return self._delivered.response if self.pieces() is not None and self._delivered is not None else None

    def came(self, body: bytes) -> None:
        """The whole answer, in one piece."""
        if self.pieces() is not None and self._delivered is not None:
            self._delivered.whole(body)

    def headers(self) -> dict[str, str]:
        """What every answer says of the limits; nothing where there are none."""
        if self._purse is None or not self._standing:
            return {}
        return quota.headers(self._standing, self._refused, now=self._purse.books.clock())

    def settle(self) -> asyncio.Task[None] | None:
        """Begins to settle by what is known now. Exactly once: whoever asks again gets the same task. None: nothing was
        held.
        """
        made = self._made
        if made is not None and self._settling is None:
            if self._renewal is not None:
                self._renewal.cancel()
            self._settling = made.purse.books.work(self._settle(made, self.usage))
        return self._settling

    async def settled(self) -> None:
        """Returns when it is settled. Whoever is cancelled while it waits does not stop it."""
        if task := self.settle():
            await asyncio.shield(task)

    async def beside(self, prompt: int, answer: int, price: Price | None, micro_usd: int = 0) -> Beside | None:
        """Holds for a call beside the answer: so many tokens, and money beside theirs. Raises as `hold` does. None:
        nothing need be held.
        """
        purse = self._purse
        if purse is None or not self.counts:
            return None
        self._asides += 1
        tokens = prompt + answer
        amounts = Amounts(tokens, dearest(price, prompt, answer) + micro_usd, tokens)
        hold = Hold(f"{self._ident}-{self._asides}", purse.account, amounts, requests=0)
        try:
            held = await purse.books.hold(hold)
        except LedgerUnavailable:
            if purse.books.row.on_failure == "deny":
                raise
        else:
            if isinstance(held, Denied):
                raise purse.refusal(held.refused)
        return Beside(purse.books, hold, price, purse.books.clock())

    # --- how it ends --------------------------------------------------------------------------------------------------

    def _renew_later(self, made: _Made) -> None:
        wait = made.purse.books.row.hold / RENEWALS
        self._renewal = asyncio.get_running_loop().call_later(wait, self._renew, made)

    def _renew(self, made: _Made) -> None:
        made.purse.books.work(made.purse.books.renew(self._ident, made.purse.account))
        self._renew_later(made)

    async def _settle(self, made: _Made, usage: Usage | None) -> None:
        books, ending = made.purse.books, await self._ending(made, usage)
        ended = await books.end(self._ident, made.purse.account, ending.amounts, made.begun)
        done = "released" if ending.amounts is None else "settled"
        state = "pending" if ended is None else done if ended.state == "settled" else ended.state
        books.metrics.settlements.labels(ending.by, state).inc()
        # A rate takes the room that was kept for the answer; a longer one is no overrun.
        overrun = Amounts() if ended is None else structs.replace(ended.overrun, rate_tokens=0)
        self.settlement = trace.Settlement(ending.by, state, ending.amounts or Amounts(), overrun)

    async def _ending(self, made: _Made, usage: Usage | None) -> _Ending:
        """Nothing is given back that may have been generated."""
        status = self._status
        refused = status is not None and (400 <= status < 500 or status in BUSY)
        if usage is None and (refused or not self._sent):
            return _Ending("nothing", None)
        if not self.counts:
            return _Ending("delivered", Amounts())
        if usage is not None:
            tokens = usage.prompt + usage.completion
            return _Ending("usage", Amounts(tokens, cost(made.model.price, usage), tokens))
        if status is not None and status >= 500:
            return _unbilled(made, 0)
        if self._delivered is None or self._delivered.opaque or self._count is None:
            return _Ending("bound", made.amounts)
        texts = self._delivered.texts
        try:
            counts = await self._count(NeedCounts(made.model.vocabulary, texts, recurring=False)) if texts else ()
        except ElbowroomError:
            return _Ending("bound", made.amounts)
        return _unbilled(made, min(made.worst.answer, sum(counts) + self._delivered.framing))


def _unbilled(made: _Made, answer: int) -> _Ending:
    """The prompt, and so much of an answer, where nobody said what they took: their dearest price."""
    prompt = made.worst.prompt
    tokens = prompt + answer
    return _Ending("delivered", Amounts(tokens, dearest(made.model.price, prompt, answer), tokens))


def _told(state: str, made: _Made, refused: tuple[Standing, ...] = ()) -> trace.Held:
    limits = tuple(f"{one.kind} {one.entity}: {one.limit}" for one in refused)
    worst = made.worst
    return trace.Held(state, worst.prompt, worst.by, worst.answer, made.amounts, limits)


class Beside(NamedTuple):
    """The hold of one call beside an answer."""

    books: Books
    hold: Hold
    price: Price | None
    begun: float

    def end(self, usage: Usage | None = None, micro_usd: int | None = None, *, asked: bool = True) -> None:
        """Settles by that usage, or by what else it cost; where neither is known all that was held is charged, and
        nothing where nobody was `asked`. Waits for nothing.
        """
        came_to: Amounts | None = self.hold.amounts
        if usage is not None:
            tokens = usage.prompt + usage.completion
            came_to = Amounts(tokens, cost(self.price, usage), tokens)
        elif micro_usd is not None:
            came_to = Amounts(0, micro_usd, 0)
        elif not asked:
            came_to = None
        self.books.work(self.books.end(self.hold.id, self.hold.account, came_to, self.begun))
