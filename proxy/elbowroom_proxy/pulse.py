"""Looks again and again, so that a worker nobody asks is shown as it is and not as it was.

Knows: how often. With several workers, /metrics is answered by one of them out of what each wrote down last.
Does not know: what is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PERIOD = 1.0  # seconds


class Pulse:
    """Calls `look` once a period, from `start` to `close`."""

    def __init__(self, look: Callable[[], None], *, period: float = PERIOD) -> None:
        """`look` neither waits nor raises. `period` in seconds."""
        self._look = look
        self._period = period
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._beat())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(self._period)
