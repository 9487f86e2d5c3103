"""Commands to a Redis, all those of one turn of the loop in one round trip.

Knows: who waits for which answer, how long at most, and when a server is left alone.
Does not know: what is asked.

A command that was given up on leaves its answer in the socket, where the next one would take it for its own. So whoever
asks waits for a future, and may leave; the commands are sent and read by a task that nobody cancels, and whose
connection redis-py closes where an answer is late.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from redis.exceptions import ConnectionError as Broken
from redis.exceptions import NoScriptError, RedisError
from redis.exceptions import TimeoutError as Late

from elbowroom.errors import LedgerUnavailable
from elbowroom_proxy.stores.scripts import Script, Word

GRACE = 5  # turns of the loop: an answer that is in the socket is read within them

Answers = list[Any]  # one a command: what the server said, or the exception that it is
Send = Callable[[Sequence[Sequence[Word]]], Awaitable[Answers]]


class Unsent(LedgerUnavailable):
    """It was left alone, so soon after a failure: the command was never sent."""


class Unanswered(LedgerUnavailable):
    """Sent, or about to be. Nobody knows what became of it."""


class Declined(LedgerUnavailable):
    """The server answered that it will not: it is out of memory, loading, a replica, or allows no scripts."""


class _Asked:
    """One command and who waits for it."""

    __slots__ = ("answer", "script", "words")

    def __init__(self, words: tuple[Word, ...], script: Script | None, answer: asyncio.Future[Any]) -> None:
        self.words = words
        self.script = script
        self.answer = answer


class Coalesced:
    """`send` sends commands in one round trip and raises where it cannot.

    Every call returns within `timeout` seconds. After a failure the server is left alone for `pause` seconds, then one
    caller tries it for all. `at_once` round trips are under way at most; what comes meanwhile goes with the next.
    """

    def __init__(self, send: Send, *, timeout: float, pause: float, at_once: int, most: int) -> None:
        self._send = send
        self._timeout = timeout
        self._pause = pause
        self._at_once = at_once
        self._most = most  # commands in one round trip
        self._waiting: list[_Asked] = []
        self._turn: list[_Asked] = []  # those of this turn of the loop
        self._running: set[asyncio.Task[None]] = set()
        self._failed_until = 0.0  # monotonic seconds; 0 while all is well
        self.fault: str | None = None  # what the last failure was; None since the last success
        self.commands = 0
        self.round_trips = 0

    async def ask(self, words: tuple[Word, ...], script: Script | None = None) -> Any:
        """The server's answer. Raises `Unsent`, `Unanswered` or `Declined`."""
        now = time.monotonic()
        if now < self._failed_until:
            raise Unsent("The ledger cannot be reached.")
        if self._failed_until:
            self._failed_until = now + self._pause  # this caller tries, the others go on without
        loop = asyncio.get_running_loop()
        asked = _Asked(words, script, loop.create_future())
        if not self._turn:
            loop.call_soon(self._turned)
        self._turn.append(asked)
        answer = await asked.answer
        if isinstance(answer, RedisError):
            raise Declined(f"The ledger declines: {type(answer).__name__}.")
        return answer

    def try_again(self) -> None:
        """Leaves it alone no longer."""
        self._failed_until = 0.0

    async def close(self) -> None:
        """Waits for what is under way: each ends by its own timeout."""
        while self._running or self._turn:
            await asyncio.wait(self._running) if self._running else await asyncio.sleep(0)

    # --- sending ------------------------------------------------------------------------------------------------------

    def _turned(self) -> None:
        turn, self._turn = self._turn, []
        self._waiting += turn
        asyncio.get_running_loop().call_later(self._timeout, self._give_up, turn)
        self._start()

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._at_once:
            # Whoever left before their command was sent need not have it sent.
            batch = [one for one in self._waiting[: self._most] if not one.answer.done()]
            del self._waiting[: self._most]
            if batch:
                task = asyncio.ensure_future(self._sent(batch))
                self._running.add(task)
                task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        task.result()
        self._start()

    async def _sent(self, batch: list[_Asked]) -> None:
        try:
            answers = await self._round_trip([one.words for one in batch])
            # A server that was started anew, or told to forget its scripts, is told them again.
            unknown = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:
                whole = [script.whole(batch[at].words) for at in unknown if (script := batch[at].script) is not None]
                for at, answer in zip(unknown, await self._round_trip(whole), strict=True):
                    answers[at] = answer
        except (RedisError, OSError) as error:
            answers = [error] * len(batch)
        for one, answer in zip(batch, answers, strict=True):
            self._answered(one, answer)

    async def _round_trip(self, commands: Sequence[Sequence[Word]]) -> Answers:
        self.round_trips += 1
        self.commands += len(commands)
        return await self._send(commands)

    def _answered(self, asked: _Asked, answer: Any) -> None:
        if isinstance(answer, (Broken, Late, OSError)):
            self._failed("it cannot be reached" if not isinstance(answer, Late) else "it does not answer in time")
            if not asked.answer.done():
                asked.answer.set_exception(Unanswered("The ledger cannot be reached."))
            return
        self._failed_until = 0.0
        self.fault = f"it declines: {type(answer).__name__}: {answer}" if isinstance(answer, RedisError) else None
        if not asked.answer.done():
            asked.answer.set_result(answer)

    def _give_up(self, turn: list[_Asked], grace: int = GRACE) -> None:
        late = [one for one in turn if not one.answer.done()]
        if late and grace:
            # Where it was this process that kept the loop busy, the answers may be there already.
            asyncio.get_running_loop().call_soon(self._give_up, late, grace - 1)
            return
        for one in late:
            one.answer.set_exception(Unanswered("The ledger did not answer in time."))
        if late:
            self._failed("it does not answer in time")

    def _failed(self, fault: str) -> None:
        self._failed_until = time.monotonic() + self._pause
        self.fault = fault
