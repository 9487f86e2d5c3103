"""Drives the walk: hands each of its questions to whoever can answer, and the answer back.

Knows: the generator protocol, with a loop and without one; how an upstream in this process bills by the same counts.
Does not know: how an answer is found (`tokens` does), or what the walk makes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from elbowroom.clean.find import find
from elbowroom.count.counter import Counter, Tally
from elbowroom.errors import ElbowroomError
from elbowroom.needs import Answer, Need, NeedCounts, NeedRedaction, NeedRerank

NOBODY: Mapping[str, Callable[[str, Sequence[str]], Answer]] = {}
Asked = TypeVar("Asked", bound=Need)
Result = TypeVar("Result")


class End(NamedTuple, Generic[Result]):
    """What a walk ended in."""

    value: Result


def advance(
    walk: Generator[Asked, Answer, Result], answer: Answer | None, error: ElbowroomError | None = None
) -> Asked | End[Result]:
    """The walk's next question after this answer (None: its first), or its end. A question that cannot be answered is
    thrown back into the walk, which may know better.
    """
    try:
        if error is not None:
            return walk.throw(error)
        return next(walk) if answer is None else walk.send(answer)
    except StopIteration as end:
        return End(end.value)


async def drive(
    walk: Generator[Asked, Answer, Result],
    answer: Callable[[Asked], Awaitable[Answer]],
    *,
    aside: bool = False,
) -> Result:
    """The walk's result. With `aside` its steps run on a thread, since they take long; it must share nothing then."""

    async def step(answered: Answer | None, error: ElbowroomError | None = None) -> Asked | End[Result]:
        return await asyncio.to_thread(advance, walk, answered, error) if aside else advance(walk, answered, error)

    moved = await step(None)
    while not isinstance(moved, End):
        try:
            answered = await answer(moved)
        except ElbowroomError as error:
            moved = await step(None, error)
        else:
            moved = await step(answered)
    result: Result = moved.value
    return result


def drive_here(walk: Generator[Asked, Answer, Result], answer: Callable[[Asked], Answer]) -> Result:
    """The same without a loop, for commands that work offline and for replays."""
    moved = advance(walk, None)
    while not isinstance(moved, End):
        try:
            answered = answer(moved)
        except ElbowroomError as error:
            moved = advance(walk, None, error)
        else:
            moved = advance(walk, answered)
    result: Result = moved.value
    return result


def offline(
    count: Callable[[NeedCounts], Answer], rerankers: Mapping[str, Callable[[str, Sequence[str]], Answer]] = NOBODY
) -> Callable[[Need], Answer]:
    """Answers where there is no network: texts are searched and counted, and the walk is told that nobody else can be
    asked, but for `rerankers` that need nothing but the texts. Nobody waits for a search here, so no deadline ends it.
    """

    def answer(need: Need) -> Answer:
        if isinstance(need, NeedRedaction):
            return tuple(find(text, need.packs) for text in need.texts)
        if isinstance(need, NeedRerank) and need.by in rerankers:
            return rerankers[need.by](need.question, need.texts)
        return count(need) if isinstance(need, NeedCounts) else ()

    return answer


class Till:
    """Bills as the proxy counts: the `Meter` of upstreams that run in this process."""

    def __init__(self, counters: Mapping[str, Counter], answer: Callable[[NeedCounts], Awaitable[Answer]]) -> None:
        """`counters` by the name that a body sent upstream has for its model."""
        self._counters = counters
        self._answer = answer

    async def prompt(self, body: Mapping[str, Any]) -> int:
        """Prompt tokens of a chat body. KeyError for a model that nobody configured."""
        counter = self._counters[body["model"]]
        plan, tally = counter.plan(body), Tally(counter.vocabulary)
        await drive(tally.measure(plan.texts, recurring=False), self._answer)
        return tally.count(plan).tokens

    async def text(self, text: str, model: str) -> int:
        """Tokens of one text."""
        answer = await self._answer(NeedCounts(self._counters[model].vocabulary, (text,), recurring=False))
        return sum(answer)
