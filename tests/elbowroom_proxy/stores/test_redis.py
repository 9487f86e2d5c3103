"""Counts in a real Redis: shared, expiring, and never in the way when it is slow, frozen or gone."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable

import redis as sync_redis

from elbowroom_proxy.stores.redis import MONTH, RedisCounts
from tests.servers import RedisServer, free_port

TIMEOUT = 0.4  # seconds


def with_store(url: str, body: Callable[[RedisCounts], Awaitable[None]], **options: int) -> None:
    async def run() -> None:
        store = RedisCounts(url, timeout=TIMEOUT, **options)
        try:
            await body(store)
        finally:
            await store.close()

    asyncio.run(run())


def test_what_was_put_is_got_in_order(redis_url: str) -> None:
    async def body(store: RedisCounts) -> None:
        assert await store.healthy()
        await store.put({"eb:tok:1:x:a": 7, "eb:tok:1:x:b": 9})
        assert await store.get(["eb:tok:1:x:b", "eb:tok:1:x:c", "eb:tok:1:x:a"]) == [9, None, 7]
        assert (store.failed, store.skipped) == (0, 0)

    with_store(redis_url, body, ttl=100)
    with sync_redis.Redis.from_url(redis_url) as client:
        assert 90 < client.ttl("eb:tok:1:x:a") <= 100
        assert client.info("commandstats")["cmdstat_mget"]["calls"] >= 1


def test_what_is_no_integer_is_no_count(redis_url: str) -> None:
    with sync_redis.Redis.from_url(redis_url) as client:
        client.set("k", "many")

    async def body(store: RedisCounts) -> None:
        assert await store.get(["k"]) == [None]

    with_store(redis_url, body)


def test_a_server_that_is_not_there_costs_one_attempt_and_then_nothing() -> None:
    async def body(store: RedisCounts) -> None:
        assert await store.get(["a"]) is None
        assert await store.get(["a"]) is None
        await store.put({"a": 1})
        assert (store.failed, store.skipped) == (1, 2)
        assert not await store.healthy()

    with_store(f"redis://127.0.0.1:{free_port()}/0", body)


def test_after_a_pause_one_caller_tries_for_all() -> None:
    async def body(store: RedisCounts) -> None:
        await store.get(["a"])
        store._failed_until = time.monotonic() - 1  # the pause is over
        assert await asyncio.gather(*(store.get(["a"]) for _ in range(3))) == [None] * 3
        assert (store.failed, store.skipped) == (2, 2)

    with_store(f"redis://127.0.0.1:{free_port()}/0", body)


def test_a_frozen_server_delays_nobody_beyond_the_timeout_and_mixes_up_no_answers() -> None:
    async def body(store: RedisCounts) -> None:
        expected = {f"key{i}": i for i in range(20)}
        await store.put(expected)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            frozen = await asyncio.gather(*(store.get([key]) for key in expected))
            assert time.monotonic() - started < 2 * TIMEOUT
            assert frozen == [None] * 20
            assert store.failed == 20
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert await store.healthy()
        for _ in range(5):
            keys = list(expected)
            answers = await asyncio.gather(*(store.get([key]) for key in keys))
            assert answers == [[expected[key]] for key in keys]

    with RedisServer() as server:
        with_store(server.url, body)


def test_a_caller_that_goes_away_leaves_no_answer_behind(redis_url: str) -> None:
    async def body(store: RedisCounts) -> None:
        await store.put({f"key{i}": i for i in range(40)})
        for i in range(40):
            waiting = asyncio.ensure_future(store.get([f"key{i}"]))
            for _ in range(i % 6):  # at every stage of a command
                await asyncio.sleep(0)
            waiting.cancel()
            assert await store.get([f"key{39 - i}"]) == [39 - i]

    with_store(redis_url, body, max_connections=2)


def test_differences_are_lists_of_bounded_length_that_all_instances_see(redis_url: str) -> None:
    async def body(store: RedisCounts) -> None:
        assert await store.lists() == {}
        for value in (1, -2, 3):
            await store.push("m\tplain/4k", value, 2)
        await store.push("m\tтулс", 7, 2)
        assert await store.lists() == {"m\tplain/4k": [3, -2], "m\tтулс": [7]}
        await store._redis.rpush("eb:err:1:m\tтулс", "damage")
        await store._redis.delete("eb:err:1:m\tplain/4k")  # as if expired
        assert await store.lists() == {"m\tтулс": [7]}
        assert 0 < await store._redis.ttl("eb:err:1:m\tтулс") <= MONTH

    with_store(redis_url, body)


def test_differences_too_are_given_up_where_nobody_answers() -> None:
    async def body(store: RedisCounts) -> None:
        await store.push("m", 1, 2)
        assert await store.lists() is None

    with_store(f"redis://127.0.0.1:{free_port()}/0", body)


async def test_texts_are_kept_and_their_loss_is_silent(redis_server: RedisServer):
    store = RedisCounts(redis_server.url)
    try:
        assert await store.get_text("eb:sum:1:x") is None
        await store.put_text("eb:sum:1:x", "c2VhbGVk")
        assert await store.get_text("eb:sum:1:x") == "c2VhbGVk"
    finally:
        await store.close()
    gone = RedisCounts("redis://127.0.0.1:9", timeout=0.5)
    await gone.put_text("eb:sum:1:x", "c2VhbGVk")
    assert await gone.get_text("eb:sum:1:x") is None
    assert gone.failed == 1
    await gone.close()
