"""How many requests may be at an upstream at once, and how many may wait for one to leave.

Knows: the two numbers, and how long a place is waited for.
Does not know: what an upstream is, or what is done in a place.
"""

from __future__ import annotations

import asyncio

from elbowroom.errors import Overloaded


class Places:
    """`enter` before, `leave` after, once each."""

    def __init__(self, places: int, queue: int, patience: float) -> None:
        """`patience` in seconds."""
        self._places = asyncio.Semaphore(places)
        self._queue = queue
        self._patience = patience
        self._waiting = 0

    async def enter(self) -> None:
        """Returns in a place. Raises `Overloaded` where the queue is full or none comes free in time."""
        if not self._places.locked():
            await self._places.acquire()
            return
        if self._waiting >= self._queue:
            raise Overloaded("Too many requests wait for this upstream.")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError as error:
            raise Overloaded("No place at this upstream came free in time.") from error
        finally:
            self._waiting -= 1

    def leave(self) -> None:
        """The place is free for who waits longest."""
        self._places.release()
