"""Holds whose answer nobody got, until it is known that they hold nothing.

Knows: which, until when it matters, and that it is tried again until then.
Does not know: how a hold is released.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from elbowroom.budget.limits import Account
from elbowroom.errors import LedgerUnavailable

log = structlog.get_logger("elbowroom")

Release = Callable[[str, Account], Awaitable[None]]  # by the hold's id; raises `LedgerUnavailable`


class Owed:
    """`release` is tried at once, and then every `pause` seconds."""

    def __init__(self, release: Release, *, pause: float) -> None:
        self._release = release
        self._pause = pause
        self._holds: dict[str, tuple[Account, float]] = {}  # with the monotonic second of their end
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, ident: str, account: Account, seconds: float) -> None:
        """It ends by itself in `seconds`: then it is swept, and there is nothing to release."""
        self._holds[ident] = (account, time.monotonic() + seconds)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._work())

    def __len__(self) -> int:
        return len(self._holds)

    async def close(self) -> None:
        """Tries once more what is left."""
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _work(self) -> None:
        while self._holds:
            last = self._closing.is_set()
            await asyncio.gather(*map(self._tried, list(self._holds)))
            if last:
                break
            if self._holds:
                await asyncio.wait((asyncio.ensure_future(self._closing.wait()),), timeout=self._pause)

    async def _tried(self, ident: str) -> None:
        account, until = self._holds[ident]
        try:
            await self._release(ident, account)
        except LedgerUnavailable:
            if time.monotonic() < until:
                return
            log.warning("hold_not_released", id=ident, org=account.org)
        del self._holds[ident]
