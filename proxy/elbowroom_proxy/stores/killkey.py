"""The kill switch as a Redis key, for all instances that share the Redis.

Knows: the key, which every version of this program reads; that a key which is not there says nothing, since a Redis
may forget one: it is turned off by saying so.
Does not know: files, who asks, or how often. It raises nothing, and answers within twice `TIMEOUT`.
"""

from __future__ import annotations

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from elbowroom_proxy import killword
from elbowroom_proxy.killword import Word

KEY = "eb:kill:1"
TIMEOUT = 0.25  # seconds, to connect and for each answer


class KillKey:
    """A `KillSwitch`."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(
            url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=Retry(NoBackoff(), 0)
        )

    async def read(self) -> Word | None:
        """What the key says; None where it is not there, or Redis cannot be reached."""
        try:
            said = await self._redis.get(KEY)
        except (RedisError, OSError):
            return None
        if said is None:
            return None
        return killword.read(said if isinstance(said, bytes) else said.encode())

    async def write(self, word: Word) -> str:
        """Returns what went wrong, "" if nothing did."""
        try:
            await self._redis.set(KEY, killword.written(word))
        except (RedisError, OSError) as error:
            return f"Redis did not take it ({type(error).__name__})"
        return ""

    async def close(self) -> None:
        await self._redis.aclose()
