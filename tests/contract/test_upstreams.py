"""Every file in `upstreams/` is one upstream of one shape: the same request is answered in the same way by each.

A scripted server stands for the provider. The demo has none, so it is held to what needs none.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from msgspec import structs

from elbowroom.errors import Overloaded, UpstreamTimeout, UpstreamUnavailable, UpstreamUnreached
from elbowroom_proxy import upstreams
from elbowroom_proxy.addresses import UPSTREAMS, Endpoint
from elbowroom_proxy.ports import Call, Reply, Upstream
from tests.providers import CALL, PROVIDERS, Part, Provider
from tests.servers import free_port
from tests.upstream import Answer, Break, FakeUpstream, answer_stream

# Upstream, and whose protocol the scripted server speaks.
PAIRS = [("openai", "openai"), ("litellm", "anthropic"), ("litellm", "gemini")]
TOOL = {
    "type": "function",
    "function": {"name": CALL["name"], "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]


class Words:
    """A meter for the demo."""

    async def prompt(self, body: Any) -> int:
        return sum(len(str(message["content"]).split()) for message in body["messages"])

    async def text(self, text: str, model: str) -> int:
        return len(text.split())


class Wired:
    """One upstream, the server behind it, and its provider's words."""

    def __init__(self, name: str, provider: Provider, server: FakeUpstream) -> None:
        self.name, self.provider, self.server = name, provider, server
        self.open: list[Upstream] = []

    def upstream(self, **changed: Any) -> Upstream:
        base = self.server.url.removesuffix("/v1") + self.provider.base
        values: dict[str, Any] = {
            "upstream": self.name, "api_base": base, "api_key": "the-key", "connect_timeout": 5.0,
            "first_byte_timeout": 20.0, "total_timeout": 20.0, "max_concurrency": 4, "max_queue": 4,
        }  # fmt: skip
        made = upstreams.load(self.name)(Endpoint(**{**values, **changed}), Words())
        self.open.append(made)
        return made

    def call(self, *, stream: bool = False, **more: Any) -> Call:
        name = self.provider.model
        body = {"model": name, "messages": MESSAGES, **more}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return Call("/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}, "m", stream)


@pytest.fixture(params=PAIRS, ids=lambda pair: "-".join(pair))
async def wired(request: pytest.FixtureRequest, fake_upstream: FakeUpstream) -> AsyncIterator[Wired]:
    name, provider = request.param
    wired = Wired(name, PROVIDERS[provider], fake_upstream)
    yield wired
    for upstream in wired.open:
        await upstream.close()


async def read(reply: Reply) -> bytes:
    try:
        return b"".join([part async for part in reply.chunks()])
    finally:
        await reply.close()


def events(said: bytes) -> list[dict[str, Any]]:
    """The chunks of a stream that ended as it should."""
    *chunks, done, rest = said.split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    return [json.loads(one.removeprefix(b"data: ")) for one in chunks]


def text(chunks: list[dict[str, Any]]) -> str:
    return "".join(choice["delta"].get("content") or "" for one in chunks for choice in one["choices"])


def check_bill(usage: dict[str, Any], provider: Provider) -> None:
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (12, 7, 19)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 3
    assert usage["prompt_tokens_details"].get("cache_write_tokens", 0) == provider.written
    assert usage["completion_tokens_details"]["reasoning_tokens"] == provider.reasoned


def test_the_upstreams_of_the_default_configuration_are_there():
    assert {"demo", "openai", "litellm"} <= UPSTREAMS
    assert {name for name, _ in PAIRS} == UPSTREAMS - {"demo"}


# --- whole ------------------------------------------------------------------------------------------------------------


async def test_a_whole_answer(wired: Wired):
    wired.server.answers(wired.provider.whole())
    reply = await wired.upstream().send(wired.call())
    said = json.loads(await read(reply))
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    (choice,) = said["choices"]
    assert (choice["message"]["role"], choice["message"]["content"]) == ("assistant", "Hello there")
    assert (choice["index"], choice["finish_reason"], said["object"]) == (0, "stop", "chat.completion")
    check_bill(said["usage"], wired.provider)
    seen = wired.server.request()
    assert "the-key" in {*seen.headers.values(), seen.headers.get("authorization", "").removeprefix("Bearer ")}


async def test_a_call_of_a_tool(wired: Wired):
    wired.server.answers(wired.provider.call())
    reply = await wired.upstream().send(wired.call(tools=[TOOL]))
    (choice,) = json.loads(await read(reply))["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert (call["type"], call["function"]["name"]) == ("function", CALL["name"])
    assert json.loads(call["function"]["arguments"]) == CALL["arguments"]
    assert call["id"]
    assert wired.provider.tools_sent(wired.server.request().json) == [CALL["name"]]


async def test_a_tools_result_goes_back(wired: Wired):
    wired.server.answers(wired.provider.whole())
    call = {"id": "c1", "type": "function", "function": {"name": CALL["name"], "arguments": '{"city": "Porto"}'}}
    messages = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Twelve degrees in Porto."},
    ]
    reply = await wired.upstream().send(wired.call(tools=[TOOL], messages=messages))
    assert reply.status == 200
    await read(reply)
    assert b"Twelve degrees in Porto." in wired.server.request().body


# --- streamed ---------------------------------------------------------------------------------------------------------


async def test_a_streamed_answer_says_the_same_in_pieces(wired: Wired):
    wired.server.answers(answer_stream(*wired.provider.begin(), *wired.provider.rest()))
    reply = await wired.upstream().send(wired.call(stream=True))
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
    *chunks, bill = events(await read(reply))
    assert text(chunks) == "Hello there"
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [choice["finish_reason"] for one in chunks for choice in one["choices"]][-1] == "stop"
    assert {one["object"] for one in chunks} == {"chat.completion.chunk"}
    assert bill["choices"] == []
    check_bill(bill["usage"], wired.provider)
    assert wired.server.request().headers["accept-encoding"] == "identity"


async def test_a_stream_comes_as_it_is_sent(wired: Wired):
    gate = wired.server.gate()
    wired.server.answers(answer_stream(*wired.provider.begin(), gate, *wired.provider.rest()))
    reply = await wired.upstream().send(wired.call(stream=True))
    chunks = aiter(reply.chunks())
    assert b"Hello" in await anext(chunks)
    gate.open()
    rest = b"".join([part async for part in chunks])
    assert b" there" in rest
    assert rest.endswith(b"data: [DONE]\n\n")
    await reply.close()


async def test_a_call_in_a_stream(wired: Wired):
    wired.server.answers(answer_stream(*wired.provider.called()))
    reply = await wired.upstream().send(wired.call(stream=True, tools=[TOOL]))
    chunks = events(await read(reply))
    calls = [call for one in chunks for choice in one["choices"] for call in choice["delta"].get("tool_calls", ())]
    assert [call["function"]["name"] for call in calls if call["function"].get("name")] == [CALL["name"]]
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == CALL["arguments"]
    assert {call["index"] for call in calls} == {0}
    assert [one["choices"][0]["finish_reason"] for one in chunks if one["choices"]][-1] == "tool_calls"


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
async def test_a_providers_no_before_the_first_byte_has_its_status_and_its_words(wired: Wired, status, stream):
    wired.server.answers(wired.provider.error(status, "It was no good.", retry_after="7"))
    upstream = wired.upstream(max_concurrency=1, max_queue=0)
    reply = await upstream.send(wired.call(stream=stream))
    error = json.loads(await read(reply))["error"]
    assert (reply.status, error["message"], reply.headers["retry-after"]) == (status, "It was no good.", "7")
    assert reply.headers["content-type"] == "application/json"
    assert set(error) == {"message", "type", "param", "code"}
    assert len(wired.server.requests) == 1
    wired.server.answers(wired.provider.whole())
    await read(await upstream.send(wired.call()))  # the place is free again


@pytest.mark.parametrize("stream", [False, True])
async def test_a_plain_503_is_tried_once_more(wired: Wired, stream):
    wired.server.answers(*[wired.provider.error(503, f"Busy {n}.") for n in range(3)])
    reply = await wired.upstream().send(wired.call(stream=stream))
    assert (reply.status, json.loads(await read(reply))["error"]["message"]) == (503, "Busy 1.")
    assert len(wired.server.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_connection_that_breaks_before_the_head_is_not_tried_again(wired: Wired, stream):
    wired.server.answers(Answer(before=Break()))
    with pytest.raises(UpstreamUnavailable):
        await wired.upstream().send(wired.call(stream=stream))
    assert len(wired.server.requests) == 1


async def test_a_port_where_nobody_listens_is_unavailable(wired: Wired):
    upstream = wired.upstream(api_base=f"http://127.0.0.1:{free_port()}", max_concurrency=1, max_queue=0)
    for _ in range(2):  # the place is free again
        with pytest.raises(UpstreamUnreached):
            await upstream.send(wired.call())


async def test_a_redirect_is_not_followed_with_the_key(wired: Wired):
    wired.server.answers(Answer(307, {"location": wired.server.url + "/elsewhere"}))
    with pytest.raises(UpstreamUnreached, match="redirect"):
        await wired.upstream().send(wired.call())
    assert len(wired.server.requests) == 1


@pytest.mark.parametrize("torn", [True, False], ids=["torn", "ended early"])
async def test_a_stream_that_is_cut_does_not_pass_for_an_answer(wired: Wired, torn):
    parts: list[Part] = [*wired.provider.begin(), *([Break()] if torn else [])]
    wired.server.answers(answer_stream(*parts))
    reply = await wired.upstream().send(wired.call(stream=True))
    said = bytearray()
    # What ends early is for whoever reads the protocol to see; litellm reads it.
    with suppress(UpstreamUnavailable) if not torn else pytest.raises(UpstreamUnavailable):
        async for part in reply.chunks():
            said += part
    await reply.close()
    assert b"Hello" in said
    assert b"[DONE]" not in said
    assert b'"stop"' not in said


# --- time and places --------------------------------------------------------------------------------------------------


async def test_a_stream_that_does_not_begin_in_time_is_too_late(wired: Wired):
    upstream = wired.upstream(first_byte_timeout=0.2)
    await upstream.start()
    wired.server.answers(Answer(before=wired.server.gate()))
    with pytest.raises(UpstreamTimeout, match="begin"):
        await upstream.send(wired.call(stream=True))
    assert await asyncio.to_thread(wired.server.request().gone.wait, 1.0)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_does_not_end_in_time_is_too_late(wired: Wired, stream):
    upstream = wired.upstream(total_timeout=0.5)
    await upstream.start()
    gate = wired.server.gate()
    wired.server.answers(answer_stream(*wired.provider.begin(), gate) if stream else Answer(before=gate))
    with pytest.raises(UpstreamTimeout):
        await read(await upstream.send(wired.call(stream=stream)))


async def test_who_finds_no_place_waits_and_who_finds_no_place_to_wait_is_refused(wired: Wired):
    upstream = wired.upstream(max_concurrency=1, max_queue=1)
    gate = wired.server.gate()
    wired.server.answers(answer_stream(*wired.provider.begin(), gate), wired.provider.whole())
    first = await upstream.send(wired.call(stream=True))
    second = asyncio.create_task(upstream.send(wired.call()))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await upstream.send(wired.call())
    await first.close()
    waited = await second
    assert waited.status == 200
    await read(waited)


async def test_it_is_said_when_a_request_leaves_and_not_before(wired: Wired):
    upstream = wired.upstream(max_concurrency=1, max_queue=1)
    gate = wired.server.gate()
    wired.server.answers(answer_stream(*wired.provider.begin(), gate), wired.provider.whole())
    begun: list[str] = []
    first = await upstream.send(structs.replace(wired.call(stream=True), begins=lambda: begun.append("first")))
    second = asyncio.create_task(upstream.send(structs.replace(wired.call(), begins=lambda: begun.append("second"))))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await upstream.send(structs.replace(wired.call(), begins=lambda: begun.append("refused")))
    assert begun == ["first"]
    await first.close()
    await read(await second)
    assert begun == ["first", "second"]


async def test_closing_a_stream_that_was_not_read_closes_the_connection(wired: Wired):
    upstream = wired.upstream(max_concurrency=1, max_queue=0)
    wired.server.answers(answer_stream(*wired.provider.begin(), wired.server.gate()), wired.provider.whole())
    reply = await upstream.send(wired.call(stream=True))
    await reply.close()
    await reply.close()
    assert await asyncio.to_thread(wired.server.request().gone.wait, 1.0)
    await read(await upstream.send(wired.call()))
    wired.server.answers(answer_stream(*wired.provider.begin(), wired.server.gate()))
    again = await upstream.send(wired.call(stream=True))
    with pytest.raises(Overloaded):  # one place was given up, not two
        await upstream.send(wired.call())
    await again.close()


@pytest.mark.parametrize("begun", [False, True], ids=["before the first byte", "after it"])
async def test_cancelling_closes_the_connection_and_frees_the_place(wired: Wired, begun):
    upstream = wired.upstream(max_concurrency=1, max_queue=0)
    await upstream.start()
    gate = wired.server.gate()
    wired.server.answers(answer_stream(*wired.provider.begin(), gate) if begun else Answer(before=gate))
    first = asyncio.Event()

    async def work() -> None:
        reply = await upstream.send(wired.call(stream=True))
        try:
            async for _ in reply.chunks():
                first.set()
        finally:
            await reply.close()

    task = asyncio.create_task(work())
    seen = await asyncio.to_thread(wired.server.request)
    if begun:
        await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(seen.gone.wait, 1.0)
    wired.server.answers(wired.provider.whole())
    await read(await upstream.send(wired.call()))


async def test_an_upstream_that_was_never_asked_can_be_closed(wired: Wired):
    upstream = wired.upstream()
    await upstream.close()


# --- the demo ---------------------------------------------------------------------------------------------------------


async def test_the_demo_answers_in_the_same_shapes():
    demo = upstreams.load("demo")(None, Words())  # type: ignore[arg-type]
    await demo.start()
    body: dict[str, Any] = {"model": "demo-small", "messages": MESSAGES}
    whole = json.loads(await read(await demo.send(Call("", json.dumps(body).encode(), {}, "m", stream=False))))
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    reply = await demo.send(Call("", json.dumps(body).encode(), {}, "m", stream=True))
    *chunks, bill = events(await read(reply))
    await reply.close()
    await demo.close()
    assert text(chunks) == whole["choices"][0]["message"]["content"]
    assert (whole["object"], bill["choices"], bill["usage"]) == ("chat.completion", [], whole["usage"])
