"""Counts in Redis, and their differences from bills: the `CountCache` and `Differences` that instances share.

Knows: one MGET for a request's texts, one pipelined write-back, how long to wait, and when not to ask at all.
Does not know: texts, tokenizers, what a missing count costs. It raises nothing: a store that fails costs time only.

A command that was given up on leaves its answer in the socket, where the next command would take it for its own. So
nothing here cancels a command: whoever waits stops waiting, and redis-py's own timeout then closes the connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

Result = TypeVar("Result")

DIFFERENCES = "eb:err:1"
DAY = 86_400  # seconds
MONTH = 30 * 86_400  # seconds


class RedisCounts:
    """Counts under the given keys, each kept for `ttl` seconds.

    Every call returns within `timeout` seconds. After a failure the store is left alone for `pause` seconds, then one
    caller tries it for all. The public integers only ever grow.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 0.25,
        pause: float = 1.0,
        ttl: int = MONTH,
        max_connections: int = 32,
    ) -> None:
        self._timeout = timeout
        self._pause = pause
        self._ttl = ttl
        self._failed_until = 0.0  # monotonic seconds; 0 while all is well
        self._running: set[asyncio.Task[Any]] = set()
        self._redis = Redis(
            connection_pool=BlockingConnectionPool.from_url(
                url,
                max_connections=max_connections,
                timeout=timeout,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 0),
            )
        )
        self.failed = 0  # calls that were made, and were late or refused
        self.skipped = 0  # calls that were not made, so soon after a failure

    async def get(self, keys: Sequence[str]) -> list[int | None] | None:
        """One integer or None a key, in order; None instead of a list while the store cannot be reached."""

        async def ask() -> list[bytes | str | None]:
            return await self._redis.mget(keys)

        values = await self._try(ask)
        return None if values is None else [_integer(value) for value in values]

    async def put(self, counts: Mapping[str, int]) -> None:
        """Writes all in one round trip; silent while the store cannot be reached."""

        async def write() -> list[Any]:
            pipeline = self._redis.pipeline(transaction=False)
            for key, count in counts.items():
                pipeline.set(key, count, ex=self._ttl)
            return await pipeline.execute()

        await self._try(write)

    async def push(self, key: str, value: int, most: int) -> None:
        """One difference in front of that list; a set knows which lists there are."""

        async def write() -> list[Any]:
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.sadd(DIFFERENCES, key)
            pipeline.lpush(f"{DIFFERENCES}:{key}", value)
            pipeline.ltrim(f"{DIFFERENCES}:{key}", 0, most - 1)
            pipeline.expire(f"{DIFFERENCES}:{key}", self._ttl)
            pipeline.expire(DIFFERENCES, self._ttl)
            return await pipeline.execute()

        await self._try(write)

    async def lists(self) -> Mapping[str, Sequence[int]] | None:
        """Every list of differences that has not expired; None while the store cannot be reached."""

        async def read() -> dict[str, Sequence[int]]:
            keys = sorted(_text(key) for key in await self._redis.smembers(DIFFERENCES))
            pipeline = self._redis.pipeline(transaction=False)
            for key in keys:
                pipeline.lrange(f"{DIFFERENCES}:{key}", 0, -1)
            found = zip(keys, await pipeline.execute() if keys else (), strict=True)
            return {key: [n for one in values if (n := _integer(one)) is not None] for key, values in found if values}

        return await self._try(read)

    async def get_text(self, key: str) -> str | None:
        """The text under that key; None where there is none, or the store cannot be reached."""

        async def ask() -> bytes | str | None:
            return await self._redis.get(key)

        value = await self._try(ask)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    async def put_text(self, key: str, text: str) -> None:
        """Writes it; silent while the store cannot be reached."""

        async def write() -> Any:
            return await self._redis.set(key, text, ex=DAY)

        await self._try(write)

    async def healthy(self) -> bool:
        """Whether the store answers now; asks even while it is left alone."""
        self._failed_until = 0.0
        return await self._try(self._ping) is not None

    async def _ping(self) -> bool:
        return bool(await self._redis.ping())

    async def close(self) -> None:
        """Waits for what is under way (each ends by its own timeout) and closes all connections."""
        if self._running:
            await asyncio.wait(self._running)
        await self._redis.connection_pool.aclose()

    async def _try(self, command: Callable[[], Awaitable[Result]]) -> Result | None:
        """The command's result; None where it was late, was refused, or was not even tried."""
        now = time.monotonic()
        if now < self._failed_until:
            self.skipped += 1
            return None
        if self._failed_until:
            self._failed_until = now + self._pause  # this caller tries, the others go on without
        task = asyncio.ensure_future(command())
        self._running.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait((task,), timeout=self._timeout)
        if task.done() and not task.cancelled() and task.exception() is None:
            self._failed_until = 0.0
            return task.result()
        self.failed += 1
        self._failed_until = time.monotonic() + self._pause
        return None

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it any more


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _integer(value: bytes | str | None) -> int | None:
    """A stored count; None for what is none, whoever wrote it there."""
    if value is None:
        return None
    try:
        return int(value)
    except ValueError:
        return None
