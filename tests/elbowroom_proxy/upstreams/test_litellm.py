"""What is litellm's alone; what it has in common with other upstreams is in tests/contract/test_upstreams.py."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from elbowroom.errors import UpstreamUnavailable
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.ports import Call, Reply, Upstream
from elbowroom_proxy.upstreams.litellm import GoogleStream, build
from tests.command import environment
from tests.providers import AnthropicSays, GeminiSays
from tests.upstream import Answer, FakeUpstream, answer_json, answer_stream

ANTHROPIC, GEMINI = AnthropicSays(), GeminiSays()


def endpoint(url: str) -> Endpoint:
    return Endpoint("litellm", url.removesuffix("/v1"), "the-key", 5.0, 20.0, 20.0, 4, 4)


def call(provider: Any = ANTHROPIC, **more: Any) -> Call:
    body = {"model": provider.model, "messages": [{"role": "user", "content": "Hi"}], **more}
    return Call("/chat/completions", json.dumps(body).encode(), {}, "m", bool(more.get("stream")))


async def read(reply: Reply) -> Any:
    return json.loads(b"".join([part async for part in reply.chunks()]))


@pytest.fixture
async def upstream(fake_upstream: FakeUpstream) -> AsyncIterator[Upstream]:
    made = build(endpoint(fake_upstream.url), None)  # type: ignore[arg-type]
    await made.start()
    yield made
    await made.close()


async def test_what_goes_up_is_the_providers_protocol_and_names_nobody(fake_upstream, upstream):
    fake_upstream.answers(ANTHROPIC.whole())
    await upstream.send(call(max_tokens=9, temperature=0.5, stop=["END"]))
    seen = fake_upstream.request()
    assert (seen.path, seen.headers["x-api-key"], seen.headers["user-agent"]) == (
        "/v1/messages",
        "the-key",
        "elbowroom",
    )
    assert "authorization" not in seen.headers
    assert seen.json == {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "max_tokens": 9,
        "temperature": 0.5,
        "stop_sequences": ["END"],
    }


async def test_geminis_key_is_no_part_of_an_address(fake_upstream, upstream):
    fake_upstream.answers(GEMINI.whole())
    await upstream.send(call(GEMINI))
    seen = fake_upstream.request()
    assert (seen.path, seen.headers["x-goog-api-key"]) == ("/models/gemini-2.5-flash:generateContent", "the-key")


async def test_cookies_are_not_kept(fake_upstream, upstream):
    for _ in range(2):
        answer = ANTHROPIC.whole()
        fake_upstream.answers(Answer(200, {**answer.headers, "set-cookie": "a=b"}, answer.parts))
        await upstream.send(call())
    assert "cookie" not in fake_upstream.request(1).headers


@pytest.mark.parametrize("name", ["seed", "n", "api_base", "mock_response"])
async def test_what_cannot_be_told_is_refused_by_name_and_nothing_is_sent(fake_upstream, upstream, name):
    reply = await upstream.send(call(**{name: 2}))
    error = (await read(reply))["error"]
    assert (reply.status, error["code"], error["param"]) == (400, "unsupported_parameter", name)
    await reply.close()
    assert fake_upstream.requests == []


async def test_a_value_that_cannot_be_told_is_refused_in_litellms_words(fake_upstream, upstream):
    reply = await upstream.send(call(service_tier="flex"))
    error = (await read(reply))["error"]
    assert (reply.status, error["code"]) == (400, "unsupported_parameter")
    assert "service_tier='flex'" in error["message"]
    assert fake_upstream.requests == []


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        (ANTHROPIC, "prompt is too long: 200001 tokens > 200000 maximum"),
        (GEMINI, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
    ],
)
async def test_a_full_window_has_openais_code(fake_upstream, upstream, provider, message):
    fake_upstream.answers(provider.error(400, message))
    error = (await read(await upstream.send(call(provider))))["error"]
    assert (error["code"], error["message"]) == ("context_length_exceeded", message)


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "invalid_api_key"), (403, "permission_denied"), (429, "rate_limit_exceeded"), (529, "overloaded"),
     (418, "upstream_error")],
)  # fmt: skip
async def test_codes_by_status(fake_upstream, upstream, status, code):
    fake_upstream.answers(ANTHROPIC.error(status, "No.", x_ratelimit_remaining_requests="3", x_other="4"))
    reply = await upstream.send(call())
    assert (await read(reply))["error"]["code"] == code
    assert reply.headers["x-ratelimit-remaining-requests"] == "3"
    assert "x-other" not in reply.headers


@pytest.mark.parametrize("answer", [Answer(200, {"content-type": "text/html"}, [b"<html>"]), answer_json({})])
async def test_an_answer_that_is_none_is_unavailable(fake_upstream, upstream, answer):
    fake_upstream.answers(answer)
    with pytest.raises(UpstreamUnavailable, match="cannot be read"):
        await upstream.send(call())


async def test_an_error_in_a_streams_first_event_is_no_answer(fake_upstream, upstream):
    fake_upstream.answers(answer_stream(*ANTHROPIC.event_error()))
    with pytest.raises(UpstreamUnavailable):
        await upstream.send(call(stream=True))


async def test_an_error_in_a_later_event_breaks_the_answer_off(fake_upstream, upstream):
    fake_upstream.answers(answer_stream(*ANTHROPIC.begin(), *ANTHROPIC.event_error()))
    reply = await upstream.send(call(stream=True))
    chunks = aiter(reply.chunks())
    assert b"Hello" in await anext(chunks)
    with pytest.raises(UpstreamUnavailable):
        await anext(chunks)
    await reply.close()
    with pytest.raises(StopAsyncIteration):
        await anext(chunks)


@pytest.mark.parametrize("provider", [ANTHROPIC, GEMINI])
async def test_a_stream_without_a_word_is_no_answer(fake_upstream, upstream, provider):
    fake_upstream.answers(answer_stream())
    reply = await upstream.send(call(provider, stream=True))
    with pytest.raises(UpstreamUnavailable):
        await read(reply)
    await reply.close()


async def test_usage_is_not_told_where_nobody_asked(fake_upstream, upstream):
    fake_upstream.answers(answer_stream(*GEMINI.begin(), *GEMINI.rest()))
    reply = await upstream.send(call(GEMINI, stream=True))
    said = b"".join([part async for part in reply.chunks()])
    await reply.close()
    assert b"usage" not in said
    assert said.endswith(b"data: [DONE]\n\n")


async def test_the_end_of_googles_streams_is_seen_however_they_are_cut():
    class Body:
        def __init__(self, *parts: bytes) -> None:
            self.parts = parts

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for part in self.parts:
                yield part

    for parts, ended in (
        ((b'{"finish', b"Reason", b'": "STOP"}'), True),
        ((b'{"promptFeedback": {"blockReason": "SAFETY"}}',), True),
        ((b'{"text": "a \\"finishReason\\": 1"}',), False),
    ):
        stream = GoogleStream(Body(*parts))  # type: ignore[arg-type]
        assert b"".join([part async for part in stream]) == b"".join(parts)
        assert stream.ended is ended


QUIET = """
import asyncio, json, logging, os, sys

reached = []
def look(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        host = args[1][0] if event == "socket.connect" else args[0]
        if host != "127.0.0.1":
            reached.append(str(host))
sys.addaudithook(look)

from elbowroom_proxy.vocabularies import Vocabularies
from elbowroom_proxy.addresses import Endpoint
from elbowroom_proxy.upstreams import litellm as adapter
from elbowroom_proxy.ports import Call

Vocabularies()
assert "litellm" not in sys.modules
before, handlers = dict(os.environ), list(logging.getLogger().handlers)

async def main(url):
    upstream = adapter.build(Endpoint("litellm", url, "secret-key", 5.0, 20.0, 20.0, 4, 4), None)
    await upstream.start()
    assert "litellm" in sys.modules
    body = {"model": "anthropic/claude-sonnet-4-5", "messages": [{"role": "user", "content": "secret text"}]}
    for _ in range(2):
        await upstream.send(Call("", json.dumps(body).encode(), {}, "m", False))
    await upstream.close()

asyncio.run(main(sys.argv[1]))
changed = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
print(json.dumps({"changed": sorted(changed), "reached": reached, "root": logging.getLogger().handlers == handlers}))
"""


def test_it_reaches_nobody_else_says_nothing_and_leaves_the_environment_as_it_is(fake_upstream, tmp_path):
    (tmp_path / ".env").write_text("OPENAI_API_KEY=from-a-file\n")
    fake_upstream.answers(ANTHROPIC.whole(), ANTHROPIC.error(500, "No."))
    done = subprocess.run(
        [sys.executable, "-c", QUIET, fake_upstream.url.removesuffix("/v1")],
        cwd=tmp_path,
        env={name: value for name, value in environment().items() if not name.startswith("LITELLM")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "changed": ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "LITELLM_MODE"],
        "reached": [],
        "root": True,
    }


@pytest.mark.parametrize("path", ["/embeddings", "/responses"])
async def test_what_is_no_chat_is_refused_by_name_and_never_sent(fake_upstream, upstream, path):
    reply = await upstream.send(Call(path, b"{}", {}, "m", stream=False))
    said = (await read(reply))["error"]
    assert (reply.status, said["code"], said["param"]) == (400, "unsupported_endpoint", "model")
    assert path in said["message"]
    assert fake_upstream.requests == []
