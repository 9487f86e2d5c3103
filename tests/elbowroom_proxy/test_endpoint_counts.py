"""Questions to providers over real sockets: answered, remembered, asked once, bounded, and failing in every way."""

from __future__ import annotations

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from elbowroom.needs import NeedEndpointCount
from elbowroom_proxy import endpoints
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.endpoint_counts import EndpointCounts
from elbowroom_proxy.stores.memory import MemoryCounts
from elbowroom_proxy.stores.redis import RedisCounts
from tests.servers import free_port
from tests.upstream import Answer, Break, FakeUpstream, answer_json

PROTOCOLS = {
    "openai": ({"object": "response.input_tokens", "input_tokens": 21}, "/v1/responses/input_tokens"),
    "anthropic": ({"input_tokens": 21}, "/v1/messages/count_tokens"),
    "gemini": ({"totalTokens": 21, "promptTokensDetails": []}, "/v1/models/m:countTokens"),
    "vllm": ({"count": 21, "max_model_len": 4096, "tokens": [1] * 21}, "/tokenize"),
}


def need(text: str = "hello", model: str = "m") -> NeedEndpointCount:
    return NeedEndpointCount(model, json.dumps({"messages": [{"role": "user", "content": text}]}).encode())


def counts(upstream: FakeUpstream | str, name: str = "openai", cache=None, **more) -> EndpointCounts:
    url = upstream if isinstance(upstream, str) else upstream.url
    counter = endpoints.load(name)(CountEndpoint(name, url, "key", "m"))
    settings = {"timeout": 10.0, "concurrency": 4, **more}
    return EndpointCounts({"m": counter}, secret=b"s", cache=cache or MemoryCounts(), **settings)


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
async def test_each_protocol_is_spoken(name, fake_upstream):
    answer, path = PROTOCOLS[name]
    fake_upstream.answers(answer_json(answer))
    asking = counts(fake_upstream, name)
    assert await asking.count(need()) == (21,)
    seen = fake_upstream.request()
    assert (seen.method, seen.path) == ("POST", path)
    assert seen.headers["content-type"] == "application/json"
    assert "hello" in seen.body.decode()
    await asking.close()


async def test_other_endpoints_are_asked_from_the_next_question_on(fake_upstream):
    answer, _ = PROTOCOLS["openai"]
    fake_upstream.answers(answer_json(answer))
    asking = counts(fake_upstream, "openai")
    there = dict(asking._counters)
    asking.swap({})
    assert (asking.models, await asking.count(need())) == (frozenset(), ())
    asking.swap(there)
    assert (asking.models, await asking.count(need())) == (frozenset({"m"}), (21,))
    await asking.close()


async def test_an_answer_is_remembered_and_the_key_says_nothing(fake_upstream):
    fake_upstream.answers(answer_json({"input_tokens": 21}))
    asking = counts(fake_upstream)
    assert [await asking.count(need()) for _ in range(3)] == [(21,)] * 3
    assert len(fake_upstream.requests) == 1
    assert (asking.asked, asking.remembered, asking.failed) == (1, 2, 0)
    question = asking._counters["m"].question(json.loads(need().body))
    other = counts(fake_upstream)
    other._hash_key = b"x" * 32
    assert asking.key(question) != other.key(question)
    await asking.close()


async def test_instances_share_what_they_were_told(fake_upstream, redis_url):
    fake_upstream.answers(answer_json({"input_tokens": 21}))
    stores = [RedisCounts(redis_url, timeout=5) for _ in range(2)]
    for store in stores:
        asking = counts(fake_upstream, cache=store)
        assert await asking.count(need()) == (21,)
        await asking.close()
    assert len(fake_upstream.requests) == 1
    for store in stores:
        await store.close()


async def test_equal_questions_under_way_are_one(fake_upstream):
    gate = fake_upstream.gate()
    fake_upstream.answers(Answer(parts=[b'{"input_tokens": 21}'], before=gate))
    asking = counts(fake_upstream)
    waiting = [asyncio.create_task(asking.count(need())) for _ in range(5)]
    await asyncio.to_thread(gate.reached.wait)
    waiting[0].cancel()  # who leaves does not take it from the others
    gate.open()
    assert await asyncio.gather(*waiting[1:]) == [(21,)] * 4
    assert len(fake_upstream.requests) == 1
    await asking.close()


async def test_no_more_than_so_many_are_asked_at_once(fake_upstream):
    gates = [fake_upstream.gate() for _ in range(2)]
    fake_upstream.answers(*(Answer(parts=[b'{"input_tokens": 21}'], before=gate) for gate in gates))
    asking = counts(fake_upstream, concurrency=1)
    one, two = (asyncio.create_task(asking.count(need(text))) for text in ("a", "b"))
    await asyncio.to_thread(gates[0].reached.wait)
    assert len(fake_upstream.requests) == 1
    for gate in gates:
        gate.open()
    assert [await one, await two] == [(21,), (21,)]
    assert len(fake_upstream.requests) == 2
    await asking.close()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answer_json({"error": {}}, 500), "status 500"),
        (answer_json({}, 302, location="http://127.0.0.1:1/"), "status 302"),
        (Answer(parts=[b"{"]), "not JSON"),
        (Answer(parts=[b"\xff"]), "not JSON"),
        (answer_json([21]), "no number"),
        (answer_json({"input_tokens": "21"}), "no number"),
        (answer_json({"input_tokens": True}), "no number"),
        (answer_json({"input_tokens": 2.5}), "no number"),
        (answer_json({"input_tokens": 0}), "no number"),
        (answer_json({"input_tokens": 1 << 60}), "no number"),
        (Answer(before=Break()), ""),
    ],
)
async def test_whatever_is_no_answer_is_none_and_is_logged(answer, why, fake_upstream):
    fake_upstream.answers(answer)
    asking = counts(fake_upstream)
    with capture_logs() as logs:
        assert await asking.count(need()) == ()
    assert logs[0]["event"] == "count_endpoint"
    assert why in logs[0]["error"]
    assert asking.failed == 1
    await asking.close()


async def test_an_endpoint_that_failed_is_left_alone_for_a_moment(fake_upstream):
    fake_upstream.answers(answer_json({}, 500), answer_json({"input_tokens": 21}))
    asking = counts(fake_upstream)
    assert await asking.count(need()) == ()
    assert await asking.count(need("other")) == ()
    assert len(fake_upstream.requests) == 1
    asking._failed_until.clear()
    assert await asking.count(need()) == (21,)
    await asking.close()


async def test_an_answer_that_is_late_is_none(fake_upstream):
    fake_upstream.answers(Answer(before=fake_upstream.gate()))
    asking = counts(fake_upstream, timeout=0.05)
    assert await asking.count(need()) == ()
    await asking.close()


async def test_nobody_there_is_none():
    asking = counts(f"http://127.0.0.1:{free_port()}/v1")
    assert await asking.count(need()) == ()
    await asking.close()


async def test_what_a_protocol_has_no_words_for_is_not_asked(fake_upstream):
    asking = counts(fake_upstream)
    audio = {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}
    assert await asking.count(NeedEndpointCount("m", json.dumps(audio).encode())) == ()
    assert await asking.count(need(model="another")) == ()
    assert fake_upstream.requests == []
    await asking.close()


async def test_a_lone_surrogate_is_told_as_json_tells_it(fake_upstream):
    fake_upstream.answers(answer_json({"input_tokens": 3}))
    asking = counts(fake_upstream)
    assert await asking.count(need("\ud800")) == (3,)
    assert b"\\ud800" in fake_upstream.request().body
    await asking.close()


async def test_closing_waits_for_what_is_under_way(fake_upstream):
    gate = fake_upstream.gate()
    fake_upstream.answers(Answer(parts=[b'{"input_tokens": 21}'], before=gate))
    asking = counts(fake_upstream)
    waiting = asyncio.create_task(asking.count(need()))
    await asyncio.to_thread(gate.reached.wait)
    closing = asyncio.create_task(asking.close())
    gate.open()
    await closing
    assert await waiting == (21,)
