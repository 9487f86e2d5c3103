"""Places and the queue before them."""

import asyncio

import pytest

from elbowroom.errors import Overloaded
from elbowroom_proxy.places import Places


async def test_who_finds_no_place_waits_until_one_is_left():
    places = Places(1, 1, 20.0)
    await places.enter()
    waiting = asyncio.create_task(places.enter())
    await asyncio.sleep(0)
    assert not waiting.done()
    places.leave()
    await waiting


async def test_the_queue_has_an_end():
    places = Places(1, 1, 20.0)
    await places.enter()
    waiting = asyncio.create_task(places.enter())
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="Too many"):
        await places.enter()
    places.leave()
    await waiting


async def test_patience_has_an_end_and_gives_the_place_in_the_queue_back():
    places = Places(1, 1, 0.01)
    await places.enter()
    for _ in range(2):
        with pytest.raises(Overloaded, match="in time"):
            await places.enter()
    places.leave()
    await places.enter()


async def test_who_gives_up_waiting_takes_nothing_along():
    places = Places(1, 1, 20.0)
    await places.enter()
    waiting = asyncio.create_task(places.enter())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    places.leave()
    await places.enter()
    again = asyncio.create_task(places.enter())
    await asyncio.sleep(0)
    places.leave()
    await again
