"""Somebody is looked at again and again until it is enough."""

from __future__ import annotations

import asyncio

from elbowroom_proxy.pulse import Pulse


async def test_it_looks_until_it_is_closed():
    seen, enough = [0], asyncio.Event()

    def look() -> None:
        seen[0] += 1
        if seen[0] == 3:
            enough.set()

    pulse = Pulse(look, period=0.001)
    await pulse.start()
    await enough.wait()
    await pulse.close()
    before = seen[0]
    await asyncio.sleep(0.01)
    assert seen[0] == before


async def test_one_that_was_never_started_can_be_closed():
    await Pulse(lambda: None).close()
