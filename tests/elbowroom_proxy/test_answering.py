"""Driving a walk, with a loop and without; and a bill that is made of the same counts."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from elbowroom import count
from elbowroom.errors import CountUnavailable, ElbowroomError, RequestTooLarge
from elbowroom.needs import Answer, Need, NeedCounts, NeedEndpointCount, NeedRedaction, Steps
from elbowroom.records import Model
from elbowroom_proxy.answering import Till, drive, drive_here, offline


def need(*texts: str) -> NeedCounts:
    return NeedCounts("o200k_base", texts)


def walk(steps: int) -> Steps[list[Any]]:
    """Asks `steps` questions, and keeps what it is told instead of an answer."""
    heard: list[Any] = []
    for step in range(steps):
        try:
            heard.append((yield need("x" * step)))
        except CountUnavailable as error:
            heard.append(error.message)
    return heard


def lengths(asked: NeedCounts) -> Answer:
    if asked.texts == ("x",):
        raise CountUnavailable("no x")
    if asked.texts == ("xxx",):
        raise RequestTooLarge("too long")
    return tuple(len(text) for text in asked.texts)


Drive = Callable[[Steps[list[Any]]], Awaitable[list[Any]]]


async def with_loop(steps: Steps[list[Any]]) -> list[Any]:
    async def answer(asked: Need) -> Answer:
        return offline(lengths)(asked)

    return await drive(steps, answer)


async def with_threads(steps: Steps[list[Any]]) -> list[Any]:
    async def answer(asked: Need) -> Answer:
        return offline(lengths)(asked)

    return await drive(steps, answer, aside=True)


async def without_loop(steps: Steps[list[Any]]) -> list[Any]:
    return drive_here(steps, offline(lengths))


@pytest.fixture(params=[with_loop, with_threads, without_loop])
def driven(request: pytest.FixtureRequest) -> Drive:
    found: Drive = request.param
    return found


async def test_each_question_is_answered_once_and_in_order(driven):
    assert await driven(walk(0)) == []
    assert await driven(walk(3)) == [(0,), "no x", (2,)]


async def test_what_the_walk_does_not_catch_comes_out(driven):
    with pytest.raises(ElbowroomError, match="too long"):
        await driven(walk(4))


async def test_aside_no_step_is_taken_on_the_loop_s_thread():
    def steps() -> Steps[set[int]]:
        threads = {threading.get_ident()}
        yield need("x")
        return threads | {threading.get_ident()}

    async def answer(_: Need) -> Answer:
        return (1,)

    assert threading.get_ident() not in await drive(steps(), answer, aside=True)
    assert await drive(steps(), answer) == {threading.get_ident()}


def test_offline_no_provider_is_asked():
    assert offline(lengths)(need("xx")) == (2,)
    assert offline(lengths)(NeedEndpointCount("m", b"{}")) == ()
    assert offline(lengths)(NeedRedaction(("pii",), ("a@b.example", "fine"), 1)) == (((0, 11, "mail"),), ())


async def test_a_bill_is_the_count_of_the_body():
    model = Model("m", "demo", "m", 8192, 1024, "openai_chat", "gpt-4o", "o200k_base")
    counter = count.build(model)

    async def characters(asked: NeedCounts) -> Answer:
        return tuple(map(len, asked.texts))

    till = Till({"m": counter}, characters)
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    plan = counter.plan(body)
    assert await till.prompt(body) == plan.constant + sum(map(len, plan.texts))
    assert await till.text("hello", "m") == 5
    with pytest.raises(KeyError):
        await till.text("hello", "another")
