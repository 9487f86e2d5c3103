"""An answer that was cut never passes for a whole one: whatever went wrong upstream, the SDK raises."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from tests.e2e.conftest import QUESTION, REFUNDS, record_of
from tests.proxy import Run, RunningProxy, config
from tests.upstream import DONE, WAIT, Answer, Break, FakeUpstream, answer_stream, chunk, completion, streamed

BEGIN = [chunk({"role": "assistant", "content": ""}), chunk({"content": "Refunds take"})]
THEIR_ERROR = b'data: {"error": {"message": "their model broke", "type": "server_error", "code": "their_code"}}\n\n'
HALF = chunk({"content": "退款"})[:-30]

CUTS = {
    "the connection breaks": ([*BEGIN, Break()], "upstream_unavailable"),
    "it breaks inside an event": ([*BEGIN, HALF, Break()], "upstream_unavailable"),
    "it ends without a reason": ([*BEGIN], "upstream_unavailable"),
    "it ends inside an event": ([*BEGIN, HALF], "upstream_unavailable"),
    "it says that it is done without a reason": ([*BEGIN, DONE], "upstream_unavailable"),
    "it ends before it began": ([], "upstream_unavailable"),
    "it reports an error": ([*BEGIN, THEIR_ERROR], "their_code"),
    "it reports an error and goes on": ([*BEGIN, THEIR_ERROR, chunk({"content": "!"}), DONE], "their_code"),
}


@pytest.mark.parametrize("tagged", [False, True])
@pytest.mark.parametrize("helper", [False, True])
@pytest.mark.parametrize(("parts", "code"), CUTS.values(), ids=CUTS.keys())
def test_a_stream_that_fails_raises(
    client: openai.OpenAI,
    proxy: RunningProxy,
    upstream: FakeUpstream,
    parts: list[Any],
    code: str,
    tagged: bool,
    helper: bool,
):
    upstream.answers(answer_stream(*parts))
    asked: Any = {"model": "fake", "messages": [QUESTION], "extra_body": {"documents": [REFUNDS]} if tagged else {}}
    text = ""
    with pytest.raises(openai.APIError) as error:  # noqa: PT012 -- what came before the error counts
        if helper:
            with client.chat.completions.stream(**asked) as events:
                for event in events:
                    text += event.delta if event.type == "content.delta" else ""
        else:
            for part in client.chat.completions.create(stream=True, **asked):
                text += part.choices[0].delta.content or ""
    assert error.value.code == code
    assert text == ("Refunds take" if parts else "")


@pytest.mark.parametrize("parts", [parts for parts, _ in CUTS.values()], ids=CUTS.keys())
def test_the_error_is_the_last_event_before_the_end(proxy: RunningProxy, upstream: FakeUpstream, parts: list[Any]):
    """Clients that only look for `[DONE]` must find it, and find the error before it."""
    upstream.answers(answer_stream(*parts))
    asked = {"model": "fake", "messages": [QUESTION], "stream": True}
    response = httpx.post(f"{proxy.base_url}/chat/completions", json=asked, timeout=WAIT)
    *_, error, done, nothing = response.text.split("\n\n")
    assert (done, nothing) == ("data: [DONE]", "")
    assert error.startswith('data: {"error"')
    assert response.text.count("[DONE]") == 1
    record = record_of(proxy, response.headers["x-request-id"])
    assert record["error"]["code"] in {"upstream_unavailable", "upstream_error"}
    assert (record["status"], record["finish_reason"]) == (200, None)


def test_a_whole_answer_that_breaks_off_is_a_502(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    body = str(completion("退款")).encode()
    upstream.answers(Answer(200, {"content-type": "application/json"}, [body[:40], Break()], sized=False))
    with pytest.raises(openai.InternalServerError) as error:
        client.chat.completions.create(model="fake", messages=[QUESTION])
    assert (error.value.status_code, error.value.code) == (502, "upstream_unavailable")
    assert record_of(proxy, error.value.request_id)["status"] == 502


def test_a_stream_that_stalls_is_told_so(running_proxy: Run, upstream: FakeUpstream):
    proxy = running_proxy(config(upstream, total_timeout=0.5))
    upstream.answers(answer_stream(*BEGIN, upstream.gate()))
    with openai.OpenAI(base_url=proxy.base_url, api_key="x", max_retries=0, timeout=WAIT) as sdk:
        stream = sdk.chat.completions.create(model="fake", messages=[QUESTION], stream=True)
        with pytest.raises(openai.APIError) as error:
            list(stream)
    assert error.value.code == "upstream_timeout"


def test_a_quiet_stream_is_kept_alive_by_comments(running_proxy: Run, upstream: FakeUpstream):
    proxy = running_proxy(config(upstream, ping_interval=0.05))
    good, gate = streamed("fine"), upstream.gate()
    upstream.answers(answer_stream(*good.parts[:2], gate, *good.parts[2:]))
    asked = {"model": "fake", "messages": [QUESTION], "stream": True}
    with httpx.stream("POST", f"{proxy.base_url}/chat/completions", json=asked, timeout=WAIT) as response:
        said = b""
        for piece in response.iter_raw():
            said += piece
            if b": ping\n\n" in said:
                gate.open()
    assert said.replace(b": ping\n\n", b"") == b"".join(part for part in good.parts if isinstance(part, bytes))


def test_the_first_byte_is_not_held_back(client: openai.OpenAI, upstream: FakeUpstream):
    """The upstream stands at its gate until the first chunk has been read."""
    good, gate = streamed("a", "b"), upstream.gate()
    upstream.answers(answer_stream(good.parts[0], gate, *good.parts[1:]))
    stream = client.chat.completions.create(
        model="fake", messages=[QUESTION], stream=True, extra_body={"documents": [REFUNDS]}
    )
    first = next(stream)
    assert first.choices[0].delta.role == "assistant"
    gate.open()
    assert [part.choices[0].delta.content for part in stream] == ["a", "b", None]


def test_what_kills_sdks_does_not_reach_them(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    """Ids, retry times, and events without data or with empty data: one of each has broken a client."""
    good = streamed("good", " day")
    evil = [
        b"id: 7\n\n",
        b"retry: 5\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b": keep-alive\n\n",
        b"event: ping\n\n",
        b"\n\n\n",
    ]
    parts = [b"id: 1\nretry: 3\n" + part for part in good.parts if isinstance(part, bytes)]
    asked: Any = {"model": "fake", "messages": [QUESTION], "extra_body": {"documents": [REFUNDS]}}
    for at in range(len(parts)):
        upstream.answers(answer_stream(*parts[:at], *evil, *parts[at:]))
        with client.chat.completions.stream(**asked) as stream:
            assert stream.get_final_completion().choices[0].message.content == "good day"
    upstream.answers(answer_stream(*evil, *parts))
    body = {"model": "fake", "messages": [QUESTION], "stream": True}
    text = httpx.post(f"{proxy.base_url}/chat/completions", json=body, timeout=WAIT).text
    assert not any(line.startswith(("id:", "retry:")) for line in text.splitlines())
