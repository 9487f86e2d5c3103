"""Ledgers of each kind for tests, with a clock that a test moves.

Knows: how each kind is opened, and how a Redis is told what time it is.
Does not know: what a test wants of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import redis

from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom_proxy.ports import Ledger
from elbowroom_proxy.stores.ledger_memory import MemoryLedger
from elbowroom_proxy.stores.ledger_redis import RedisLedger
from elbowroom_proxy.stores.scripts import Script, script

NOON = 3_994_660_800.0  # 1 August 2096, 12:00 UTC: a Redis forgets at once what is over by its own clock


class Clock:
    """Seconds since 1970. `heard`: who else is to be told."""

    def __init__(self, now: float = NOON, heard: Callable[[float], object] = lambda _: None) -> None:
        self._heard = heard
        self.set(now)

    def __call__(self) -> float:
        return self.now

    def set(self, now: float) -> None:
        """It is that time now."""
        # The others first: a proxy that meets an older clock than its own takes it that the others' is so far behind,
        # and while both stand still nothing tells it otherwise.
        self._heard(now)
        self.now = now

    def move(self, seconds: float) -> None:
        """It is so much later."""
        self.set(self.now + seconds)


def timed(name: str) -> Script:
    """A script that takes the time from the key `clock` instead of the server's own clock."""
    text = script(name).text.replace(b"redis.call('TIME')", b"redis.call('HMGET', 'clock', 's', 'u')")
    return Script.of(text)


def in_memory(_: str) -> tuple[Ledger, Clock]:
    """A ledger in this process."""
    clock = Clock()
    return MemoryLedger(clock=clock), clock


def in_redis(url: str) -> tuple[Ledger, Clock]:
    """A ledger in the Redis there, whose clock and ours agree."""

    def heard(now: float) -> None:
        with redis.Redis.from_url(url) as client:
            micro = round(now * 1e6)
            client.hset("clock", mapping={"s": micro // 1_000_000, "u": micro % 1_000_000})

    clock = Clock(heard=heard)
    return RedisLedger(url, timeout=5.0, clock=clock, scripts=timed), clock


OPEN: Mapping[str, Callable[[str], tuple[Ledger, Clock]]] = {"memory": in_memory, "redis": in_redis}


def account(*levels: Limits, org: str = "acme", timezone: str = "UTC") -> Account:
    """An organisation, a team and a key with those limits; fewer levels where there are fewer limits."""
    names = (("org", org), ("team", f"{org}/support"), ("key", f"{org}/support/bot"))
    entities = tuple(Entity(kind, name, limits) for (kind, name), limits in zip(names, levels, strict=False))  # type: ignore[arg-type]
    return Account(org, timezone, entities)
