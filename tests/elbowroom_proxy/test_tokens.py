"""The tokens of a text: the same whatever is remembered, wherever, and by whichever thread."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence

import pytest
import redis as sync_redis
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.errors import CountUnavailable, RequestTooLarge
from elbowroom.needs import NeedCounts
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.stores.redis import RedisCounts
from elbowroom_proxy.tokens import DEGRADED, INLINE_BYTES, SHARED_CHARS, Recent, Tokens
from elbowroom_proxy.vocabularies import FILES, Vocabularies
from tests.servers import RedisServer

VOCABULARIES = Vocabularies()
O200K = "o200k_base"
LONG = "Evidence number {} says that the river rose by four metres in the spring. " * 8


def need(*texts: str, recurring: bool = True) -> NeedCounts:
    return NeedCounts(O200K, texts, recurring)


def long(i: int) -> str:
    return LONG.format(*[i] * 8)


def truth(*texts: str) -> tuple[int, ...]:
    return tuple(VOCABULARIES.tokens(O200K, text) for text in texts)


class Watched(Vocabularies):
    """Remembers the thread of every encoding."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []

    def tokens(self, name: str, text: str) -> int:
        self.threads.append(threading.current_thread().name)
        return super().tokens(name, text)


async def test_counts_come_in_order_and_are_remembered() -> None:
    tokens = Tokens(VOCABULARIES, secret=b"s")
    texts = ("b", "", long(1), "b")
    assert await tokens.count(need(*texts)) == truth(*texts)
    encoded = tokens.texts_encoded
    assert await tokens.count(need(*texts)) == truth(*texts) == tokens.count_now(need(*texts))
    assert tokens.texts_encoded == encoded
    assert tokens.texts_remembered >= len(texts)
    await tokens.close()


@pytest.mark.parametrize("texts", [("x" * (INLINE_BYTES + 1),), ("word " * 500, "other " * 500), ("中" * 1100,)])
async def test_more_than_4_kb_leaves_the_loops_thread(texts: tuple[str, ...]) -> None:
    watched = Watched()
    watched.encoding(O200K)
    tokens = Tokens(watched, secret=b"s")
    assert await tokens.count(need(*texts)) == truth(*texts)
    assert watched.threads
    assert all(name.startswith("elbowroom-tokens") for name in watched.threads)
    assert tokens.threaded == 1
    await tokens.close()


async def test_a_small_text_is_counted_where_it_is_asked_for_unless_the_vocabulary_must_be_read_first() -> None:
    watched = Watched()
    tokens = Tokens(watched, secret=b"s")
    await tokens.count(need("first"))
    await tokens.count(need("second"))
    assert watched.threads[0].startswith("elbowroom-tokens")
    assert watched.threads[1] == threading.current_thread().name
    await tokens.close()


async def test_other_instances_find_long_recurring_texts_in_the_store(redis_url: str) -> None:
    store = RedisCounts(redis_url)
    one, two = (Tokens(VOCABULARIES, secret=b"shared", cache=store) for _ in range(2))
    texts = (long(1), "short", long(2))
    assert await one.count(need(*texts)) == truth(*texts)
    await one.close()
    assert await two.count(need(*texts)) == truth(*texts)
    assert (two.texts_shared, two.texts_encoded) == (2, 1)
    await two.close()
    with sync_redis.Redis.from_url(redis_url) as client:
        keys = sorted(key.decode() for key in client.scan_iter())
        calls = client.info("commandstats")
    assert keys == sorted(one.key(O200K, text) for text in texts if len(text) >= SHARED_CHARS)
    assert all(key.startswith(f"eb:tok:1:{FILES[O200K][1][:8]}:") for key in keys)
    assert calls["cmdstat_mget"]["calls"] == 2
    await store.close()


async def test_what_does_not_recur_is_not_shared() -> None:
    store = MemoryCounts()
    tokens = Tokens(VOCABULARIES, secret=b"s", cache=store)
    await tokens.count(need(long(1), recurring=False))
    await tokens.count(need("short"))
    await tokens.close()
    assert await store.get([tokens.key(O200K, long(1)), tokens.key(O200K, "short")]) == [None, None]


def test_another_secret_another_vocabulary_or_another_text_has_another_key() -> None:
    one, two = Tokens(VOCABULARIES, secret=b"1"), Tokens(VOCABULARIES, secret=b"2" * 200)
    keys = {one.key(O200K, "a"), one.key(O200K, "b"), two.key(O200K, "a"), one.key("cl100k_base", "a")}
    assert len(keys) == 4
    assert one.key(O200K, "\ud800")


class Liar(MemoryCounts):
    """A store in which somebody wrote impossible counts."""

    def __init__(self, says: int) -> None:
        super().__init__()
        self.says = says

    async def get(self, keys: Sequence[str]) -> list[int | None] | None:
        return [self.says for _ in keys]


@pytest.mark.parametrize("says", [0, -5, 10**9])
async def test_an_impossible_count_is_not_believed(says: int) -> None:
    tokens = Tokens(VOCABULARIES, secret=b"s", cache=Liar(says))
    assert await tokens.count(need(long(1))) == truth(long(1))
    await tokens.close()


async def test_a_request_without_the_store_is_counted_once_however_much_it_asks() -> None:
    class Gone(MemoryCounts):
        async def get(self, keys: Sequence[str]) -> list[int | None] | None:
            return None

    tokens = Tokens(VOCABULARIES, secret=b"s", cache=Gone())
    notes: set[str] = set()
    assert await tokens.count(need(long(1)), notes) == truth(long(1))
    assert await tokens.count(need(long(2)), notes) == truth(long(2))
    assert (notes, tokens.degraded) == ({DEGRADED}, 1)
    await tokens.count(need(long(3)))
    assert tokens.degraded == 2
    await tokens.close()


async def test_twenty_requests_at_a_frozen_redis_all_answer_and_none_gets_anothers_count() -> None:
    timeout = 0.5
    with RedisServer() as server:
        store = RedisCounts(server.url, timeout=timeout)
        await store.healthy()
        tokens = Tokens(VOCABULARIES, secret=b"s", cache=store)
        await tokens.count(need("warm"))
        texts = [long(i) for i in range(20)]
        os.kill(server.pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            answers = await asyncio.gather(*(tokens.count(need(text), set()) for text in texts))
            assert time.monotonic() - started < 2 * timeout
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert answers == [truth(text) for text in texts]
        assert tokens.degraded == 20
        await tokens.close()
        assert await store.healthy()
        for start in range(0, 60, 20):
            fresh = Tokens(VOCABULARIES, secret=b"s", cache=store)
            texts = [long(i) for i in range(start, start + 20)]
            answers = await asyncio.gather(*(fresh.count(need(text)) for text in texts))
            assert answers == [truth(text) for text in texts]
            await fresh.close()
        await store.close()


async def test_a_text_beyond_the_cap_is_refused_before_any_work() -> None:
    tokens = Tokens(VOCABULARIES, secret=b"s", max_text_chars=100)
    with pytest.raises(RequestTooLarge, match="101 characters; at most 100"):
        await tokens.count(need("a", "b" * 101))
    with pytest.raises(RequestTooLarge):
        tokens.count_now(need("b" * 101))
    assert tokens.texts_encoded == 0
    await tokens.close()


async def test_and_so_are_texts_that_are_too_long_together():
    tokens = Tokens(VOCABULARIES, secret=b"s", max_chars=10)
    assert len(await tokens.count(NeedCounts("o200k_base", ("aaaaa", "bbbbb")))) == 2
    with pytest.raises(RequestTooLarge, match="12 characters together; at most 10"):
        await tokens.count(NeedCounts("o200k_base", ("cccccc", "dddddd")))
    with pytest.raises(RequestTooLarge):  # known or not
        await tokens.count(NeedCounts("o200k_base", ("aaaaa", "bbbbb", "c")))


async def test_an_unknown_vocabulary_is_an_error_not_a_guess() -> None:
    tokens = Tokens(VOCABULARIES, secret=b"s")
    with pytest.raises(CountUnavailable):
        await tokens.count(NeedCounts("of-nobody", ("text",)))
    await tokens.close()


def test_memory_is_bounded_and_forgets_the_longest_unused() -> None:
    recent = Recent(max_bytes=10_000)
    for i in range(100):
        recent.put(f"{i:>500}", i)
        recent.get(f"{0:>500}")
    assert recent.bytes <= 10_000
    assert len(recent) < 20
    assert recent.get(f"{0:>500}") == 0
    assert recent.get(f"{1:>500}") is None
    recent.put("y" * 5000, 1)
    assert recent.get("y" * 5000) is None


@settings(max_examples=25)
@given(st.lists(st.lists(st.text(max_size=40) | st.integers(0, 9).map(long), max_size=6), max_size=6), st.booleans())
def test_counts_do_not_depend_on_what_was_asked_before(batches: list[list[str]], stored: bool) -> None:
    async def run() -> None:
        tokens = Tokens(VOCABULARIES, secret=b"s", cache=MemoryCounts(3) if stored else None, memory_bytes=4000)
        for batch in batches:
            assert await tokens.count(need(*batch)) == truth(*batch)
        await asyncio.gather(*(tokens.count(need(*batch)) for batch in batches))
        await tokens.close()

    asyncio.run(run())


async def test_a_write_back_is_one_call_that_nobody_waits_for() -> None:
    class Slow(MemoryCounts):
        calls = 0

        async def put(self, counts: Mapping[str, int]) -> None:
            self.calls += 1
            await released.wait()
            await super().put(counts)

    released, store = asyncio.Event(), Slow()
    tokens = Tokens(VOCABULARIES, secret=b"s", cache=store)
    assert await tokens.count(need(long(1), long(2))) == truth(long(1), long(2))
    assert await store.get([tokens.key(O200K, long(1))]) == [None]
    released.set()
    await tokens.close()
    assert store.calls == 1
    assert await store.get([tokens.key(O200K, long(1))]) == [truth(long(1))[0]]
