"""Notices when nothing comes for a while.

Knows: how to wait for the next piece without giving up on it.
Does not know: what the pieces are, or what is sent in the meantime.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from elbowroom.errors import ElbowroomError


async def with_silences(chunks: AsyncIterator[bytes], interval: float) -> AsyncGenerator[bytes, None]:
    """The chunks, and an empty one after each `interval` seconds without any."""

    async def following() -> bytes | None:
        return await anext(chunks, None)

    pending: asyncio.Task[bytes | None] | None = None
    try:
        while True:
            pending = pending or asyncio.create_task(following())
            done, _ = await asyncio.wait({pending}, timeout=interval)
            if not done:
                yield b""
                continue
            chunk = pending.result()
            pending = None
            if chunk is None:
                return
            yield chunk
    finally:
        if pending is not None:
            pending.cancel()


async def settled(chunks: AsyncIterator[bytes], patience: float) -> None:
    """Takes what is left, for `patience` seconds at most: a connection whose body was read to its end can be kept."""
    with suppress(TimeoutError, ElbowroomError):
        async with asyncio.timeout(patience):
            async for _ in chunks:
                continue
