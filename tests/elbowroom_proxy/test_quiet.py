"""Silences are noticed, and nothing is lost to noticing them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from elbowroom.errors import UpstreamUnavailable
from elbowroom_proxy.quiet import settled, with_silences


async def test_chunks_pass_in_order():
    async def chunks() -> AsyncIterator[bytes]:
        for chunk in (b"a", b"b", b"c"):
            yield chunk

    assert [chunk async for chunk in with_silences(chunks(), 60)] == [b"a", b"b", b"c"]


async def test_a_silence_is_an_empty_chunk_and_what_comes_after_it_is_not_lost():
    speak = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        await speak.wait()
        yield b"late"

    heard: list[bytes] = []
    async for chunk in with_silences(chunks(), 0.001):
        heard.append(chunk)
        if len(heard) == 3:
            speak.set()
    assert heard[:3] == [b"", b"", b""]
    assert [chunk for chunk in heard if chunk] == [b"late"]


async def test_a_failure_comes_through():
    async def chunks() -> AsyncIterator[bytes]:
        yield b"a"
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        assert [chunk async for chunk in with_silences(chunks(), 60)]


async def test_who_stops_listening_stops_the_waiting():
    stopped = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        yield b"never"

    async with aclosing(with_silences(chunks(), 0.001)) as heard:
        assert await anext(heard) == b""
    await asyncio.wait_for(stopped.wait(), 20)


async def test_what_is_left_is_taken_to_its_end_or_for_as_long_as_patience_lasts():
    taken: list[bytes] = []

    async def chunks(end: str) -> AsyncIterator[bytes]:
        for chunk in (b"a", b"b"):
            taken.append(chunk)
            yield chunk
        if end == "never":
            await asyncio.Event().wait()
        if end == "broken":
            raise UpstreamUnavailable("broken off")

    for end in ("end", "never", "broken"):
        taken.clear()
        await settled(chunks(end), 0.01)
        assert taken == [b"a", b"b"]
