"""One request through the whole service, over real sockets: what goes up, what comes down, what is recorded."""

from __future__ import annotations

import gc
import json
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.flow import ClientGone, Exchange, Head
from elbowroom_proxy.ports import Call
from elbowroom_proxy.tokens import Tokens
from tests.proxy import Run, RunningProxy, config
from tests.servers import free_port
from tests.upstream import (
    DONE,
    WAIT,
    Answer,
    Break,
    FakeUpstream,
    answer_json,
    answer_stream,
    chunk,
    completion,
    streamed,
    usage_chunk,
)

HELLO: dict[str, Any] = {"model": "fake", "messages": [{"role": "user", "content": "Where are the offices?"}]}
DOCUMENTS = [
    {"id": "a", "text": "Our offices are in Bonn.", "url": "https://kb.example/a", "title": "Offices"},
    {"id": "b", "text": "Our offices are in Bonn."},
]
TAGGED = {**HELLO, "documents": DOCUMENTS}


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as found:
        yield found


@pytest.fixture(scope="module")
def shared_proxy(upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(config(upstream), tmp_path_factory.mktemp("proxy")) as found:
        yield found


@pytest.fixture
def proxy(shared_proxy: RunningProxy, upstream: FakeUpstream) -> RunningProxy:
    upstream.requests.clear()
    return shared_proxy


def post(proxy: RunningProxy, body: object = HELLO, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(f"{proxy.base_url}/chat/completions", content=content, headers=named, timeout=WAIT)


def record(proxy: RunningProxy, answer: httpx.Response) -> dict[str, Any]:
    """The one record of that answer."""
    trace_id = answer.headers["x-elbowroom-trace-id"]
    number = 0
    while (found := proxy.trace(number))["trace_id"] != trace_id:
        number += 1
    assert [one["trace_id"] for one in proxy.traces()].count(trace_id) == 1
    return found


# --- what passes untouched ---


def test_without_tags_bytes_go_up_and_come_down_as_they_are(proxy, upstream):
    body = b'{ "model":"gpt-4o","messages":[ {"content":"hi", "role":"user","odd":1}],\n "unknown_field": 1.50 }'
    reply = b'{ "choices":[{"message":{"content":"hello [S1]"}}], "more" :1.50}'
    upstream.answers(Answer(200, {"content-type": "application/json", "x-ratelimit-remaining-tokens": "9"}, [reply]))
    answer = post(proxy, body)
    assert upstream.request().body == body
    assert (answer.content, answer.headers["x-ratelimit-remaining-tokens"]) == (reply, "9")
    assert record(proxy, answer)["edits"] == []


def test_without_tags_a_stream_comes_down_as_it_is(proxy, upstream):
    upstream.answers(streamed("a", "b", usage=True))
    body = json.dumps({**HELLO, "model": "gpt-4o", "stream": True}).encode()
    answer = post(proxy, body)
    assert upstream.request().body == body
    assert answer.content == b"".join(streamed("a", "b", usage=True).parts)  # type: ignore[arg-type]
    assert record(proxy, answer)["billed"]["prompt_tokens"] == 7
    for name, value in {"cache-control": "no-cache", "x-accel-buffering": "no"}.items():
        assert answer.headers[name] == value
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_a_models_name_here_is_not_its_name_there(proxy, upstream):
    answer = post(proxy, {**HELLO, "model": "org/fake"})
    assert upstream.request().json == {**HELLO, "model": "gpt-4o"}
    assert record(proxy, answer)["edits"] == ["model_mapped"]


def test_usage_that_only_we_asked_for_is_hidden(proxy, upstream):
    upstream.answers(streamed("a", usage=True))
    answer = post(proxy, {**TAGGED, "stream": True})
    assert upstream.request().json["stream_options"] == {"include_usage": True}
    assert "usage" not in answer.text
    assert record(proxy, answer)["billed"]["prompt_tokens"] == 7


def test_a_clients_credentials_never_go_up(proxy, upstream):
    answer = post(
        proxy,
        authorization="Bearer the-clients",
        cookie="session=1",
        x_api_key="the-clients",
        traceparent="00-1-2-01",
        x_client_request_id="theirs",
    )
    seen = upstream.request()
    assert seen.headers["authorization"] == "Bearer upstream-key"
    assert seen.headers["traceparent"] == "00-1-2-01"
    assert not {"cookie", "x-api-key"} & set(seen.headers)
    assert "the-clients" not in str(seen)
    assert record(proxy, answer)["client_request_id"] == "theirs"


# --- what is decided ---


def test_tagged_documents_become_evidence_and_citations_annotations(proxy, upstream):
    upstream.answers(answer_json(completion("In Bonn [S1], not [S7].", prompt_tokens=70)))
    answer = post(proxy, {**TAGGED, "context": {"explain": True, "conversation_id": "c-1"}})
    sent = upstream.request().json
    assert not {"documents", "context"} & set(sent)
    assert sent["messages"][0]["content"].endswith("Where are the offices?")
    assert "Our offices are in Bonn." in sent["messages"][0]["content"]
    value = answer.json()
    annotation = value["choices"][0]["message"]["annotations"][0]["url_citation"]
    assert (annotation["url"], annotation["title"]) == ("https://kb.example/a", "Offices")
    told = record(proxy, answer)
    assert value["context_report"]["trace_id"] == told["trace_id"]
    assert {one["id"]: one["reason"] for one in told["documents"]} == {"a": None, "b": "duplicate"}
    assert told["cited"] == {"verified": ["S1"], "invented": ["S7"], "uncited": []}
    assert (told["finish_reason"], told["billed"]["prompt_tokens"], told["conversation_id"]) == ("stop", 70, "c-1")
    headers = answer.headers
    assert (headers["x-elbowroom-admitted"], headers["x-elbowroom-dropped"]) == ("1", "1")
    assert headers["x-elbowroom-prompt-tokens"] == str(told["counted"]["tokens"])
    assert headers["x-elbowroom-evidence-tokens"] == str(told["evidence_tokens"])
    assert (headers["x-elbowroom-mode"], headers["x-elbowroom-count-basis"]) == ("enforce", "modelled")
    assert headers["x-elbowroom-class"] == told["query_class"]
    assert "Bonn" not in json.dumps(told)


def test_what_has_expired_by_the_service_s_clock_stays_out_and_the_record_says_when(proxy, upstream):
    upstream.answers(answer_json(completion("Here.")))
    old = {**DOCUMENTS[0], "access": {"expires_at": "2020-01-01"}}
    before = time.time()
    told = record(proxy, post(proxy, {**HELLO, "documents": [old, {"id": "c", "text": "The desk is on floor two."}]}))
    assert told["dropped"] == {"expired": 1}
    assert told["accepted_chunk_ids"] == ["c"]
    assert before <= told["now"] <= time.time()


def test_on_a_stream_the_report_is_on_the_first_chunk_and_annotations_before_the_finish(proxy, upstream):
    upstream.answers(streamed("In Bonn [S", "1]."))
    answer = post(proxy, {**TAGGED, "stream": True}, x_elbowroom_explain="true")
    events = [json.loads(one[6:]) for one in answer.text.split("\n\n") if one not in {"", "data: [DONE]"}]
    assert ["context_report" in event for event in events].index(True) == 0
    assert sum("context_report" in event for event in events) == 1
    deltas = [event["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("content", "") for delta in deltas) == "In Bonn [S1]."
    assert [len(delta["annotations"]) for delta in deltas if "annotations" in delta] == [1]
    assert record(proxy, answer)["cited"]["verified"] == ["S1"]


def test_what_fits_whatever_it_counts_is_sent_first_and_counted_on_the_way(proxy, upstream):
    gate = upstream.gate()
    upstream.answers(Answer(200, {"content-type": "application/json"}, [b"{}"], before=gate))
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(post, proxy)
        upstream.request()
        gate.open()
        answer = asking.result(WAIT)
    told = record(proxy, answer)
    assert told["counted"]["tokens"] == int(answer.headers["x-elbowroom-prompt-tokens"]) > 0
    assert told["window"] is None


def test_an_untagged_request_is_served_where_nothing_can_be_counted(running_proxy: Run, upstream, monkeypatch):
    async def fail(*_: object) -> None:
        raise CountUnavailable("no vocabulary")

    monkeypatch.setattr(Tokens, "count", fail)
    proxy = running_proxy(config(upstream))
    answer = post(proxy)
    assert answer.status_code == 200
    assert "x-elbowroom-prompt-tokens" not in answer.headers
    assert (record(proxy, answer)["counted"], record(proxy, answer)["notes"]) == (None, ["not_counted"])
    assert post(proxy, {**HELLO, "messages": [{"role": "user", "content": "word " * 5000}]}).status_code == 200
    tagged = post(proxy, TAGGED)
    assert (tagged.status_code, tagged.json()["error"]["code"]) == (503, "count_unavailable")


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"nonsense", 400, "invalid_request"),
        (b"[]", 400, "invalid_request"),
        ({"model": "fake"}, 400, "invalid_request"),
        ({**HELLO, "messages": []}, 400, "invalid_request"),
        ({**HELLO, "model": "nobody"}, 404, "model_not_found"),
        ({**HELLO, "documents": [{"id": "a"}]}, 400, "invalid_document"),
        (
            {"model": "fake", "messages": [{"role": "system", "content": "x"}], "documents": DOCUMENTS},
            400,
            "no_user_message",
        ),
        (
            {"model": "fake", "messages": [{"role": "user", "content": "word " * 20_000}]},
            400,
            "context_length_exceeded",
        ),
    ],
)
def test_what_cannot_be_answered_is_told_and_recorded(proxy, upstream, body, status, code):
    answer = post(proxy, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["x-request-id"]
    told = record(proxy, answer)
    assert (told["status"], told["error"]["code"]) == (status, code)
    assert upstream.requests == []


def test_an_upstreams_error_comes_down_as_it_is_but_nobody_sleeps_for_hours(proxy, upstream):
    error = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
    upstream.answers(answer_json(error, 429, retry_after="86400", x_should_retry="true"))
    answer = post(proxy, {**HELLO, "stream": True})
    assert (answer.status_code, answer.json()) == (429, error)
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("60", "true")
    told = record(proxy, answer)
    assert (told["status"], told["error"]["code"]) == (429, "upstream_error")
    assert "slow down" not in json.dumps(told)


def test_an_upstream_that_is_not_there_is_a_502(running_proxy: Run):
    proxy = running_proxy(config(f"http://127.0.0.1:{free_port()}/v1"))
    answer = post(proxy)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unavailable")


def test_an_upstream_that_is_too_late_is_a_504(running_proxy: Run, upstream):
    proxy = running_proxy(config(upstream, first_byte_timeout=0.05))
    upstream.answers(Answer(before=upstream.gate()))
    answer = post(proxy, {**HELLO, "stream": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")


def test_a_whole_answer_that_breaks_off_is_a_502(proxy, upstream):
    upstream.answers(answer_stream(b'{"half":', Break(), content_type="application/json"))
    answer = post(proxy)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_unavailable")


@pytest.mark.parametrize(
    "parts", [(chunk({"content": "half"}), Break()), (chunk({"content": "half"}),), (chunk({"content": "half"}), DONE)]
)
def test_a_stream_that_was_cut_does_not_pass_for_a_whole_one(proxy, upstream, parts):
    upstream.answers(answer_stream(*parts))
    answer = post(proxy, {**HELLO, "stream": True})
    assert answer.content.startswith(chunk({"content": "half"}))
    assert b'"code":"upstream_unavailable"' in answer.content
    assert answer.content.endswith(b"data: [DONE]\n\n")
    told = record(proxy, answer)
    assert (told["status"], told["error"]["code"]) == (200, "upstream_unavailable")


def test_what_nobody_foresaw_says_nothing_of_itself(running_proxy: Run, upstream):
    proxy = running_proxy(config(upstream))

    class Broken:
        async def send(self, _: Call) -> None:
            raise ValueError("a detail that is nobody's business")

        async def close(self) -> None:
            """Nothing is open."""

    proxy.service.flow.upstreams = {"fake": Broken()}  # type: ignore[dict-item]
    answer = post(proxy)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "nobody's business" not in answer.text
    assert record(proxy, answer)["error"]["code"] == "internal_error"


# --- how it goes on ---


def test_a_quiet_stream_carries_comments_where_the_operator_wants_them(running_proxy: Run, upstream):
    proxy = running_proxy(config(upstream, ping_interval=0.01))
    gate, whole = upstream.gate(), streamed("a", "b")
    upstream.answers(answer_stream(*whole.parts[:2], gate, *whole.parts[2:]))
    body = {**HELLO, "stream": True}
    with httpx.stream("POST", f"{proxy.base_url}/chat/completions", json=body, timeout=WAIT) as answer:
        text = b""
        for part in answer.iter_raw():
            text += part
            if b": ping\n\n" in text:
                gate.open()
    assert text.replace(b": ping\n\n", b"") == b"".join(part for part in whole.parts if isinstance(part, bytes))


def test_a_streams_connection_is_used_again_and_a_body_without_end_is_left(running_proxy: Run, upstream):
    proxy = running_proxy(config(upstream))
    before = upstream.connections
    for _ in range(3):
        upstream.answers(streamed("a"))
        assert post(proxy, {**HELLO, "stream": True}).content.endswith(DONE)
    assert upstream.connections == before + 1
    upstream.answers(answer_stream(chunk({"content": "a"}, finish="stop"), DONE, upstream.gate()))
    number = len(upstream.requests)
    assert post(proxy, {**HELLO, "stream": True}).content.endswith(DONE)
    assert upstream.request(number).gone.wait(WAIT)


def test_an_upstream_that_does_not_stream_is_handed_on_whole(proxy, upstream):
    upstream.answers(answer_json(completion()))
    answer = post(proxy, {**HELLO, "stream": True})
    assert (answer.json(), answer.headers["content-type"]) == (completion(), "application/json")


def test_usage_that_the_client_asked_for_is_not_hidden(proxy, upstream):
    upstream.answers(streamed("a", usage=True))
    answer = post(proxy, {**HELLO, "stream": True, "stream_options": {"include_usage": True}})
    assert usage_chunk() in answer.content


def test_a_large_body_is_decided_like_any_other_away_from_the_loop(proxy, upstream):
    upstream.answers(answer_json(completion("fine")))
    long = " ".join(f"Office {i} opens at nine." for i in range(12_000))
    answer = post(proxy, {**TAGGED, "documents": [{"id": "long", "text": long}, *DOCUMENTS]})
    assert answer.status_code == 200
    documents = record(proxy, answer)["documents"]
    assert [one["decision"] for one in documents] == ["admitted", "admitted", "dropped"]
    assert documents[0]["spans"]


async def test_an_exchange_is_an_iterator_and_needs_no_server(proxy):
    flow = proxy.service.flow
    exchange = Exchange(flow, {})

    async def leave() -> bytes:
        raise ClientGone

    assert await exchange.refusal() == ()
    assert [part async for part in exchange.parts(leave)] == []

    async def nonsense() -> bytes:
        return b"?"

    exchange = Exchange(flow, {})
    assert await exchange.refusal() == ()
    parts: AsyncIterator[Head | bytes] = exchange.parts(nonsense)
    head = await anext(parts)
    assert isinstance(head, Head)
    assert head.status == 400
    assert b"invalid_request" in await anext(parts)
    assert list(exchange.cut_off()) == []
    await flow.drained()


async def test_a_request_that_is_over_leaves_nothing_to_the_collector(proxy):
    async def leave() -> bytes:
        raise ClientGone

    gc.disable()
    try:
        exchange = Exchange(proxy.service.flow, {})
        assert await exchange.refusal() == ()
        assert [part async for part in exchange.parts(leave)] == []
        story = weakref.ref(exchange._story)
        del exchange
        assert story() is None
    finally:
        gc.enable()
