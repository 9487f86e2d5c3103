"""One process's dealings with the ledger: holds asked for, settlements that must arrive, holds that nobody ended.

Knows: what follows where the ledger cannot be reached, that a settlement is tried again until its hold would be swept,
and which organisations to sweep.
Does not know: what is held or what it came to (`budget`), or where sums are kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import structlog

from elbowroom.budget.hold import Amounts, Denied, Held, Hold, Settled, Standing, Swept
from elbowroom.budget.limits import Account
from elbowroom.errors import LedgerUnavailable
from elbowroom_proxy.holdmetrics import HoldMetrics
from elbowroom_proxy.ledgerconfig import Ledger as LedgerRow
from elbowroom_proxy.ports import Ledger
from elbowroom_proxy.quota import RATES

AGAIN = 0.25  # seconds until a settlement is tried again; then twice as long each time
LONGEST = 5.0  # seconds between two tries, at most
LAST_WORDS = 5.0  # seconds that settlements get when the service stops
ORGS = 10_000  # that are remembered, to be swept, and so many accounts whose budgets are spent
GLANCE = 1.0  # seconds for which it is remembered that a budget is spent: who is refused asks again at once

T = TypeVar("T")

log = structlog.get_logger("elbowroom")


def nobody() -> Iterable[str]:
    """No organisation."""
    return ()


class Books:
    """Kept by one ledger, for all requests of this process."""

    def __init__(
        self,
        ledger: Ledger,
        metrics: HoldMetrics,
        row: LedgerRow = LedgerRow(),  # noqa: B008 -- frozen
        orgs: Callable[[], Iterable[str]] = nobody,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`orgs`: those that are configured; whoever died may have left holds of any of them. `clock`: seconds since
        1970, the ledger's own.
        """
        self.row = row
        self.clock = clock
        self.metrics = metrics
        self._ledger = ledger
        self._orgs = orgs
        self._seen: dict[str, None] = {}
        self._spent: dict[Account, tuple[float, tuple[Standing, ...]]] = {}  # whose budgets are, and until when
        self._open: set[str] = set()  # holds of requests under way
        self._work: set[asyncio.Task[Any]] = set()
        self._stopping = asyncio.Event()
        self._sweeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._ledger.start()
        self._sweeper = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        """What is under way is tried once more; then the ledger is left alone, and sweeps what could not be told."""
        self._stopping.set()
        if self._sweeper is not None:
            await self._sweeper
        if self._work:
            await asyncio.wait(self._work, timeout=LAST_WORDS)
        await self._ledger.close()

    def work(self, steps: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Done even where whoever began it is cancelled; `close` waits for it."""
        task = asyncio.create_task(steps)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def glance(self, account: Account) -> tuple[Standing, ...]:
        """The limits that would refuse any request at all, as far as that is known without asking anybody. A budget
        that is spent is there again when its period ends; a rate, or what is held, may be at any time.
        """
        now = self.clock()
        until, refused = self._spent.get(account, (0.0, ()))
        if now < until:
            return refused
        refused = self._ledger.glance(account)
        if refused and all(one.limit not in RATES and one.spent + one.asked > one.most for one in refused):
            if len(self._spent) == ORGS:
                self._spent.clear()
            self._spent[account] = min(now + GLANCE, *(one.reset for one in refused)), refused
        return refused

    async def standing(self, account: Account) -> tuple[Standing, ...]:
        """Every limit and where it stands; nothing where nobody can say."""
        try:
            return await self._ledger.standing(account)
        except LedgerUnavailable:
            return ()

    async def hold(self, hold: Hold) -> Held:
        """Raises `LedgerUnavailable`."""
        self._remember(hold.account.org)
        try:
            held = await self._ledger.hold(hold, seconds=self.row.hold)
        except LedgerUnavailable:
            self.metrics.failed("hold")
            raise
        self.metrics.answered()
        if isinstance(held, Denied):
            self.denied(held.refused)
        else:
            self._open.add(hold.id)
            self.metrics.open.set(len(self._open))
            self.metrics.count("held", hold.amounts)
        return held

    def denied(self, refused: Iterable[Standing]) -> None:
        """Counts the limits that refused a request."""
        for limit in {one.limit for one in refused}:
            self.metrics.refused(limit)

    async def renew(self, ident: str, account: Account) -> bool:
        """False where the hold is gone, or where nobody could say."""
        try:
            return await self._ledger.renew(ident, account, seconds=self.row.hold)
        except LedgerUnavailable:
            self.metrics.failed("renew")
            return False

    async def end(self, ident: str, account: Account, came_to: Amounts | None, begun: float) -> Settled | None:
        """Settles, or gives back where it came to nothing (None). None where that is still to be done: it is tried
        again until the hold would be swept. `begun` in seconds since 1970. Raises nothing.
        """
        self._open.discard(ident)
        self.metrics.open.set(len(self._open))
        try:
            return await self._end(ident, account, came_to, begun)
        except LedgerUnavailable:
            self.metrics.failed("release" if came_to is None else "settle")
            self.work(self._again(ident, account, came_to, begun))
        except Exception as error:  # an answer that has come is handed on, whatever the ledger does
            self.metrics.lost.inc()
            log.error("unforeseen", hold=ident, exc_info=error)
        return None

    async def _end(self, ident: str, account: Account, came_to: Amounts | None, begun: float) -> Settled:
        if came_to is None:
            await self._ledger.release(ident, account)
            self.metrics.answered()
            return Settled("settled")
        settled = await self._ledger.settle(ident, account, came_to, begun=begun)
        self.metrics.answered()
        if settled.state in {"again", "too_old"}:
            log.warning("settlement", hold=ident, state=settled.state)
        else:
            self.metrics.count("settled", came_to)
            self.metrics.count("overrun", settled.overrun)
        return settled

    async def _again(self, ident: str, account: Account, came_to: Amounts | None, begun: float) -> None:
        wait, until = AGAIN, time.monotonic() + self.row.hold
        while time.monotonic() < until:
            await self._pause(wait)
            last, wait = self._stopping.is_set(), min(2 * wait, LONGEST)
            try:
                await self._end(ident, account, came_to, begun)
            except LedgerUnavailable:
                if last:
                    break
            else:
                log.info("settled late", hold=ident)
                return
        self.metrics.lost.inc()
        log.error("not settled: its hold will be charged in full", hold=ident)

    async def _sweep(self) -> None:
        while not self._stopping.is_set():
            overdue = 0
            try:
                for org in dict.fromkeys((*self._orgs(), *self._seen)):
                    self._swept(await self._ledger.sweep(org))
                    overdue += await self._ledger.overdue(org)
                    self.metrics.answered()
                self.metrics.overdue.set(overdue)
            except LedgerUnavailable:
                self.metrics.failed("sweep")
            except Exception as error:  # nobody would notice that sweeping has ended, and dead holds would stay
                self.metrics.failed("sweep")
                log.error("sweep", exc_info=error)
            await self._pause(self.row.sweep)

    def _swept(self, holds: Sequence[Swept]) -> None:
        self.metrics.swept.inc(len(holds))
        for one in holds:
            log.warning(
                "unconfirmed: a hold whose holder was not heard of again is charged in full",
                hold=one.id,
                tokens=one.amounts.tokens,
                micro_usd=one.amounts.micro_usd,
            )

    async def _pause(self, seconds: float) -> None:
        """Ends at once where the service stops."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    def _remember(self, org: str) -> None:
        self._seen.pop(org, None)
        self._seen[org] = None
        if len(self._seen) > ORGS:
            del self._seen[next(iter(self._seen))]
