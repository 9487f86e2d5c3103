"""The store of a single instance: bounded, and the longest unused goes first."""

from __future__ import annotations

import asyncio

from elbowroom_proxy.ports import CountCache
from elbowroom_proxy.stores.memory import MemoryCounts


def test_it_answers_in_order_and_with_none_for_what_it_does_not_know() -> None:
    async def run() -> None:
        store: CountCache = MemoryCounts()
        await store.put({"a": 1, "b": 2})
        assert await store.get(["b", "x", "a"]) == [2, None, 1]
        assert await store.healthy()
        await store.close()
        assert await store.get(["a"]) == [None]

    asyncio.run(run())


def test_it_forgets_what_was_not_asked_for_the_longest() -> None:
    async def run() -> None:
        store = MemoryCounts(max_entries=2)
        await store.put({"a": 1, "b": 2})
        await store.get(["a"])
        await store.put({"c": 3})
        assert await store.get(["a", "b", "c"]) == [1, None, 3]

    asyncio.run(run())
