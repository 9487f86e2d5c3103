"""A client that leaves takes its upstream request with it, within a second, whatever it was waiting for."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, QUESTION, REFUNDS
from tests.proxy import RunningProxy, wait_until
from tests.upstream import WAIT, Answer, FakeUpstream, answer_stream, chunk, streamed

SECOND = 1.0
DOCUMENTS: dict[str, Any] = {"documents": [REFUNDS]}


def ended(proxy: RunningProxy, before: int) -> dict[str, Any]:
    """The one record that there is more of than before."""
    wait_until(lambda: len(proxy.traces()) > before)
    (record,) = proxy.traces()[before:]
    return record


@pytest.mark.parametrize("body", [{}, DOCUMENTS], ids=["untagged", "tagged"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_task_that_is_cancelled_before_the_first_byte(
    async_client: openai.AsyncOpenAI, proxy: RunningProxy, upstream: FakeUpstream, stream: bool, body: dict[str, Any]
):
    before = len(proxy.traces())
    upstream.answers(Answer(before=upstream.gate()))
    asking = asyncio.create_task(
        async_client.chat.completions.create(model="fake", messages=[QUESTION], stream=stream, extra_body=body)
    )
    seen = await asyncio.to_thread(upstream.request)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(seen.gone.wait, SECOND)
    record = await asyncio.to_thread(ended, proxy, before)
    assert (record["disconnected"], record["status"], record["stream"]) == (True, None, stream)


@pytest.mark.parametrize("body", [{}, DOCUMENTS], ids=["untagged", "tagged"])
def test_a_stream_that_is_closed_half_way(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream, body: dict[str, Any]
):
    before = len(proxy.traces())
    gate = upstream.gate()
    upstream.answers(answer_stream(chunk({"role": "assistant", "content": "a"}), gate))
    stream = client.chat.completions.create(model="fake", messages=[QUESTION], stream=True, extra_body=body)
    assert next(stream).choices[0].delta.content == "a"
    assert gate.reached.wait(WAIT)
    stream.close()
    assert upstream.request().gone.wait(SECOND)
    record = ended(proxy, before)
    assert (record["disconnected"], record["status"], record["finish_reason"]) == (True, 200, None)


def test_who_leaves_with_the_whole_answer_has_left_nothing(proxy: RunningProxy, upstream: FakeUpstream):
    before = len(proxy.traces())
    upstream.answers(answer_stream(*streamed("fine").parts, upstream.gate()))  # its end is still to come
    body = {"model": "fake", "messages": [QUESTION], "stream": True}
    with httpx.stream("POST", f"{proxy.base_url}/chat/completions", json=body, timeout=WAIT) as answer:
        assert "data: [DONE]" in answer.iter_lines()
    record = ended(proxy, before)
    assert (record["disconnected"], record["status"], record["finish_reason"]) == (False, 200, "stop")


def test_the_stream_helper_that_is_left_half_way(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    before = len(proxy.traces())
    upstream.answers(answer_stream(chunk({"role": "assistant", "content": "a"}), upstream.gate()))
    with client.chat.completions.stream(model="fake", messages=[QUESTION], extra_body=DOCUMENTS) as stream:
        assert next(iter(stream)).type == "chunk"
    assert upstream.request().gone.wait(SECOND)
    assert ended(proxy, before)["disconnected"] is True


def test_a_client_whose_patience_ends(proxy: RunningProxy, upstream: FakeUpstream):
    before = len(proxy.traces())
    upstream.answers(Answer(before=upstream.gate()))
    patience = openai.Timeout(WAIT, read=1.0)
    with (
        openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=patience) as sdk,
        pytest.raises(openai.APITimeoutError),
    ):
        sdk.chat.completions.create(model="fake", messages=[QUESTION])
    assert upstream.request().gone.wait(SECOND)
    assert ended(proxy, before)["disconnected"] is True


async def test_a_whole_answer_whose_body_is_coming_already(
    async_client: openai.AsyncOpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    before = len(proxy.traces())
    gate = upstream.gate()
    upstream.answers(Answer(200, {"content-type": "application/json"}, [b"{", gate, b"}"], sized=False))
    asking = asyncio.create_task(async_client.chat.completions.create(model="fake", messages=[QUESTION]))
    assert await asyncio.to_thread(gate.reached.wait, WAIT)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(upstream.request().gone.wait, SECOND)
    assert (await asyncio.to_thread(ended, proxy, before))["disconnected"] is True


async def test_many_that_leave_leave_nothing_behind(
    async_client: openai.AsyncOpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    before = len(proxy.traces())
    upstream.answers(*(Answer(before=upstream.gate()) for _ in range(20)))
    asking = [
        asyncio.create_task(async_client.chat.completions.create(model="fake", messages=[QUESTION], stream=bool(i % 2)))
        for i in range(20)
    ]
    await asyncio.to_thread(upstream.request, 19)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    for seen in list(upstream.requests):
        assert await asyncio.to_thread(seen.gone.wait, SECOND)
    await asyncio.to_thread(wait_until, lambda: len(proxy.traces()) == before + 20)
    assert proxy.service.metrics.open == 0
    answer = await async_client.chat.completions.create(model="fake", messages=[QUESTION])
    assert answer.choices[0].message.content == "fine"
    await asyncio.to_thread(wait_until, lambda: len(proxy.traces()) == before + 21)
