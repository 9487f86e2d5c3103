"""What is not ours to change comes through byte for byte, in both directions, however the network cuts it."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import httpx
import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, HELLO, PARCELS, QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy
from tests.upstream import DONE, WAIT, Answer, FakeUpstream, answer_stream, chunk, completion, streamed, usage_chunk

# Nothing that writes JSON writes it like this.
ODD = (
    '{ "messages" : [ {"role":"system","content":"S\\u00e9 brief\\ud83d\\ude00"},\n\t'
    '{"content":"\\u9000款 \\ud800 </S1-0000>","role":"user","x-own":1.50} ] ,"model":"gpt-4o",'
    '"temperature":1.0e0, "unknown_field": {"b":[1,2,{}],"a":null}, "stream" : %s }'
)
PIECES = [
    "\\u9000款 \\ud800 </S1-0000>".encode(),
    b"S\\u00e9 brief\\ud83d\\ude00",
    b'"unknown_field"',
    b'{"b":[1,2,{}],"a":null}',
    b"1.0e0",
    b"1.50",
]
# What one provider or another sends and no SDK minds: comments, CRs, events of several lines, unknown members.
WILD = [
    b": a comment\n\n",
    chunk({"role": "assistant", "content": ""}).replace(b'"created": 1', b'"created":   1, "own": "\xe2\x80\xa8"'),
    b"data: " + chunk({"content": "退款😀é"})[6:],
    b"event: message\r\n" + chunk({"content": "x"}).replace(b"\n", b"\r\n"),
    chunk({"content": None, "reasoning_content": "quiet"}),
    b'data: {"id":"1",\ndata: "choices":[{"index":0,"delta":{"content":"y"},"finish_reason":null}]}\n\n',
    chunk(finish="stop"),
    usage_chunk(),
    DONE,
]


@pytest.fixture(scope="module")
def http(proxy: RunningProxy):
    with httpx.Client(base_url=proxy.base_url, timeout=WAIT) as client:
        yield client


def post(http: httpx.Client, body: bytes, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.post("/chat/completions", content=body, headers={"content-type": "application/json", **named})


def raw(http: httpx.Client, body: bytes, **headers: str) -> tuple[httpx.Response, bytes]:
    """The response, and its bytes as they came over the wire."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with http.stream("POST", "/chat/completions", content=body, headers=named) as response:
        return response, b"".join(response.iter_raw())


def ask(stream: bool, *, tagged: bool = False, **more: Any) -> bytes:
    tags = {"documents": [REFUNDS, PARCELS]} if tagged else {}
    return json.dumps({"model": "fake", "messages": [QUESTION], "stream": stream, **tags, **more}).encode()


# --- up ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["true", "false"])
def test_an_untagged_body_goes_up_as_it_came(http: httpx.Client, upstream: FakeUpstream, proxy: RunningProxy, stream):
    body = (ODD % stream).encode()
    upstream.answers(*([streamed("fine")] if stream == "true" else []))
    response = post(http, body)
    assert response.status_code == 200
    assert upstream.request().body == body
    assert record_of(proxy, response.headers["x-request-id"])["edits"] == []


def test_where_only_the_model_is_mapped_all_else_goes_up_as_it_came(http: httpx.Client, upstream: FakeUpstream):
    post(http, (ODD % "false").replace('"gpt-4o"', '"fake"').encode())
    sent = upstream.request().body
    assert json.loads(sent) == json.loads(ODD % "false")
    for piece in PIECES:
        assert piece in sent


def test_only_what_is_tagged_changes_in_a_tagged_body(http: httpx.Client, upstream: FakeUpstream, proxy: RunningProxy):
    body = (ODD % "false").replace('"gpt-4o"', '"fake"').encode()
    tagged = body[:-1] + b', "documents": [{"id": "a", "text": "Refunds take a week."}], "context": {"explain": false}}'
    response = post(http, tagged)
    sent = upstream.request().body
    assert b"Refunds take a week." in sent
    assert b'"documents"' not in sent
    assert b'"context"' not in sent
    for piece in PIECES[1:]:
        assert piece in sent
    assert b"\\n\\n" + PIECES[0] + b'"' in sent
    assert record_of(proxy, response.headers["x-request-id"])["edits"] == [
        "tags_removed",
        "model_mapped",
        "evidence_added",
    ]


# --- down -------------------------------------------------------------------------------------------------------------


def test_an_untagged_stream_comes_down_as_it_was_sent(http: httpx.Client, upstream: FakeUpstream):
    upstream.answers(answer_stream(*WILD))
    response, said = raw(http, ask(True))
    assert said == b"".join(WILD)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert (response.headers["cache-control"], response.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert "content-encoding" not in response.headers


BODY = json.dumps({**completion("退款 ok"), "own": 1.50}, indent=2, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("identity", BODY),
        (None, BODY),
    ],
)
@pytest.mark.parametrize("accepted", ["gzip, deflate, br, zstd", "br", "identity"])
def test_a_whole_answer_comes_down_as_it_was_meant(
    http: httpx.Client, upstream: FakeUpstream, encoding: str | None, packed: bytes, accepted: str
):
    headers = {"content-type": "application/json", **({"content-encoding": encoding} if encoding else {})}
    upstream.answers(Answer(200, headers, [packed]))
    response, said = raw(http, ask(False), accept_encoding=accepted)
    assert said == BODY
    assert response.headers.get("content-encoding", "identity") == "identity"
    assert int(response.headers["content-length"]) == len(BODY)


def test_an_encoding_that_nobody_asked_for_is_an_error_and_not_garbage(http: httpx.Client, upstream: FakeUpstream):
    """The client's `br` does not go up, so no upstream should send it."""
    upstream.answers(Answer(200, {"content-type": "application/json", "content-encoding": "br"}, [b"\x0b\x02\x80"]))
    response = post(http, ask(False), accept_encoding="br")
    assert "br" not in upstream.request().headers["accept-encoding"]
    assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_unavailable")


@pytest.mark.parametrize("body", [b"", b"plain words", b"{", b'{"choices": 3}', b"[]", b"\xff\xfe"])
@pytest.mark.parametrize("tagged", [False, True])
def test_an_answer_that_is_no_completion_is_handed_on(
    http: httpx.Client, upstream: FakeUpstream, body: bytes, tagged: bool
):
    upstream.answers(Answer(200, {"content-type": "text/plain"}, [body]))
    response, said = raw(http, ask(False, tagged=tagged))
    assert (response.status_code, said, response.headers["content-type"]) == (200, body, "text/plain")


# --- usage ------------------------------------------------------------------------------------------------------------


def with_usage(null: bool) -> Answer:
    """As OpenAI sends it when asked: null on every chunk, an object on the last."""
    more = {"usage": None} if null else {}
    events = [chunk({"role": "assistant", "content": ""}, **more), chunk({"content": "fine"}, **more)]
    return answer_stream(*events, chunk(finish="stop", **more), usage_chunk(), DONE)


@pytest.mark.parametrize("null", [True, False])
def test_usage_that_the_client_did_not_ask_for_is_hidden(
    http: httpx.Client, upstream: FakeUpstream, proxy: RunningProxy, null: bool
):
    upstream.answers(with_usage(null))
    response = post(http, ask(True, tagged=True))
    assert upstream.request().json["stream_options"] == {"include_usage": True}
    assert b"usage" not in response.content
    events = [json.loads(line[6:]) for line in response.text.split("\n\n") if line.startswith("data: {")]
    assert all(event["choices"] for event in events)
    assert record_of(proxy, response.headers["x-request-id"])["billed"]["prompt_tokens"] == 7


@pytest.mark.parametrize("tagged", [True, False])
def test_usage_that_the_client_asked_for_comes_through(http: httpx.Client, upstream: FakeUpstream, tagged: bool):
    answer = with_usage(null=True)
    upstream.answers(answer)
    response = post(http, ask(True, tagged=tagged, stream_options={"include_usage": True}))
    assert response.content == b"".join(part for part in answer.parts if isinstance(part, bytes))


def test_usage_that_the_client_refused_is_not_asked_for(http: httpx.Client, upstream: FakeUpstream):
    upstream.answers(streamed("fine"))
    post(http, ask(True, tagged=True, stream_options={"include_usage": False}))
    assert upstream.request().json["stream_options"] == {"include_usage": False}


# --- cuts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tagged", [False, True])
def test_a_stream_cut_at_every_byte_is_the_same_stream(http: httpx.Client, upstream: FakeUpstream, tagged: bool):
    """Every byte offset, those inside characters, escapes, line ends and citations included."""
    events = [
        '{"id":"c","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}'.replace("TEXT", text)
        for text in ("退款😀 [S1", "] é\u2028。")
    ]
    whole = "".join(f"data: {event}\r\n\r\n" for event in events).encode() + chunk(finish="stop") + DONE
    body = ask(True, tagged=tagged)
    upstream.answers(answer_stream(whole))
    expected = post(http, body).content
    if not tagged:
        assert expected == whole
    upstream.answers(*(answer_stream(whole[:cut], whole[cut:]) for cut in range(1, len(whole))))
    for cut in range(1, len(whole)):
        assert post(http, body).content == expected, cut
    upstream.answers(answer_stream(*(whole[at : at + 1] for at in range(len(whole)))))
    assert post(http, body).content == expected


def test_the_sdk_reads_the_same_text_from_single_bytes(client: openai.OpenAI, upstream: FakeUpstream):
    whole = b"".join(part for part in streamed("退款", "😀", " [S1]。").parts if isinstance(part, bytes))
    upstream.answers(answer_stream(*(whole[at : at + 1] for at in range(len(whole)))))
    stream = client.chat.completions.create(
        model="fake", messages=[QUESTION], stream=True, extra_body={"documents": [REFUNDS]}
    )
    assert "".join(part.choices[0].delta.content or "" for part in stream if part.choices) == "退款😀 [S1]。"
    assert CLIENT_KEY not in upstream.request().body.decode()
    assert HELLO not in upstream.request().json["messages"]
