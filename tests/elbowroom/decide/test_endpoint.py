"""When a provider's own count is asked for, and what follows where it cannot be had."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.decide.endpoint import ROUNDS, Endpoint, canonical
from elbowroom.errors import CountUnavailable
from elbowroom.needs import Answer, NeedEndpointCount, Steps
from elbowroom.read.policy import Counting
from elbowroom.records import Basis, Count
from elbowroom_proxy.answering import drive
from tests.walk import MODEL

BODY = {"messages": [{"role": "user", "content": "hello"}]}
MODELLED = Count(90, Basis.MODELLED, 10)
SURE = Count(90, Basis.MODELLED)
BOUND = Count(90, Basis.BOUNDED)


def endpoint(endpoint: Any = "near_limit", on_unavailable: Any = "bounded", *, there: bool = True) -> Endpoint:
    return Endpoint(MODEL, there, Counting(endpoint=endpoint, on_unavailable=on_unavailable))


async def run(steps: Steps[Any], answer: Answer) -> tuple[Any, list[NeedEndpointCount]]:
    asked: list[Any] = []

    async def answering(need: Any) -> Answer:
        asked.append(need)
        return answer

    return await drive(steps, answering), asked


@pytest.mark.parametrize(
    ("count", "room", "wanted"),
    [(MODELLED, 100, False), (MODELLED, 99, True), (SURE, 50, False), (BOUND, 90, False), (BOUND, 89, True)],
)
def test_it_is_asked_where_what_is_not_sure_comes_near_the_limit(count, room, wanted):
    assert endpoint().wanted(count, room, final=True) is wanted
    assert endpoint().wanted(count, room, final=False) is wanted


def test_always_means_the_final_count():
    assert endpoint("always").wanted(SURE, 1_000, final=True)
    assert not endpoint("always").wanted(SURE, 1_000, final=False)


def test_it_is_not_asked_against_the_policy_nor_where_there_is_none():
    assert not endpoint("never").wanted(MODELLED, 0, final=True)
    assert not endpoint("always", there=False).wanted(MODELLED, 0, final=True)


async def test_its_answer_is_the_count():
    found, asked = await run(endpoint().confirmed(MODELLED, 99, BODY, final=True), (77,))
    assert found == Count(77, Basis.EXACT)
    assert asked == [NeedEndpointCount("m", canonical(BODY))]
    assert await run(endpoint().confirmed(MODELLED, 100, BODY, final=True), (77,)) == (MODELLED, [])


async def test_without_an_answer_the_policy_decides():
    one = endpoint()
    found, _ = await run(one.confirmed(MODELLED, 99, BODY, final=True), ())
    assert found is MODELLED
    assert one.missed
    assert not one.wanted(MODELLED, 0, final=True)  # it is not asked in vain again
    with pytest.raises(CountUnavailable):
        await run(endpoint(on_unavailable="refuse").ask(BODY), ())


async def test_where_there_is_none_nothing_is_asked():
    assert await run(endpoint(there=False).ask(BODY), (7,)) == (None, [])


async def test_questions_have_an_end():
    one = endpoint("always")
    for _ in range(ROUNDS):
        assert one.wanted(SURE, 0, final=True)
        await run(one.ask(BODY), (1,))
    assert not one.wanted(SURE, 0, final=True)


def test_equal_prompts_are_equal_bytes():
    tools = [{"type": "function", "function": {"name": "f"}}]
    one = canonical({**BODY, "tools": tools, "temperature": 1, "stream": True, "n": None})
    other = canonical({"tools": tools, "messages": [{"content": "hello", "role": "user"}], "user": "u"})
    assert one == other
    assert json.loads(one) == {**BODY, "tools": tools}
    assert (
        json.loads(canonical({"messages": [{"role": "user", "content": "\ud800"}]}))["messages"][0]["content"]
        == "\ud800"
    )
