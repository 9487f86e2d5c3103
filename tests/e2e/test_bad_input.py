"""What no client should send, over the wire to a process of its own: an answer each, a record each, no stack trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.e2e.conftest import CLIENT_KEY
from tests.proxy import config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT, FakeUpstream

MAX_BODY = 2_000_000
SECRET_TEXT = "the-clients-own-words"
USER = {"role": "user", "content": SECRET_TEXT}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FORM = "response_format"


class Served(NamedTuple):
    process: Elbowroom
    traces: Path
    http: httpx.Client

    def post(self, body: bytes) -> httpx.Response:
        return self.http.post("/chat/completions", content=body)

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for file in self.traces.glob("*.jsonl") for line in file.read_text().splitlines()]

    def record(self, response: httpx.Response) -> dict[str, Any]:
        """The one record of this response."""
        wanted = response.headers["x-request-id"]
        wait_until(lambda: any(record["request_id"] == wanted for record in self.records()))
        (record,) = [record for record in self.records() if record["request_id"] == wanted]
        return record


@pytest.fixture(scope="module")
def served(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    file, traces = folder / "elbowroom.yaml", folder / "traces"
    file.write_text(config(module_upstream, traces=str(traces), max_body_bytes=MAX_BODY))
    headers = {"authorization": f"Bearer {CLIENT_KEY}", "content-type": "application/json"}
    with (
        Elbowroom(folder, "--config", str(file)) as process,
        httpx.Client(base_url=process.base_url, headers=headers, timeout=WAIT) as http,
    ):
        yield Served(process, traces, http)
    said = "".join(process.output)
    assert "Traceback" not in said
    assert "unforeseen" not in said
    assert SECRET_TEXT not in said
    assert CLIENT_KEY not in said


def body(**changed: Any) -> bytes:
    """A good request with these members changed; `...` takes a member away."""
    members = {"model": "fake", "messages": [USER], **changed}
    return json.dumps({name: value for name, value in members.items() if value is not ...}).encode()


def said(**message: Any) -> bytes:
    """A request of this message and a good one."""
    return body(messages=[{name: value for name, value in message.items() if value is not ...}, USER])


def docs(*documents: Any, **changed: Any) -> bytes:
    return body(documents=list(documents), **changed)


def raw(text: str) -> bytes:
    return body().replace(b'"fake"', b'"fake", ' + text.encode())


INVALID = [
    # not JSON
    (b"", None),
    (b" \n ", None),
    (b"hello", None),
    (b'{"model": "fake", "messages": [', None),
    (body() + b"}", None),
    (body()[:-1], None),
    (b"[]", None),
    (b"null", None),
    (b'"text"', None),
    (b"{}", "model"),
    (body().replace(b'"', b"'"), None),
    (b"\xff\xfe" + body(), None),
    (body().replace(b"clients", b"\xe4\xe5"), "messages[0]"),
    (b"\xef\xbb\xbf" + body(), None),
    (body().decode().encode("utf-16"), None),
    (b"[" * 100_000, None),
    (raw('"x": ' + "[" * 50_000 + "]" * 50_000), None),
    (raw('"model": "fake"'), None),
    (raw('"x": NaN'), None),
    (raw('"temperature": Infinity'), None),
    (raw('"temperature": -Infinity'), None),
    (raw('"x": [1, {"y": NaN}]'), None),
    # the model and the messages
    (body(model=...), "model"),
    (body(model=None), "model"),
    (body(model=3), "model"),
    (body(model=""), "model"),
    (body(model=["fake"]), "model"),
    (body(messages=...), "messages"),
    (body(messages=None), "messages"),
    (body(messages=[]), "messages"),
    (body(messages={}), "messages"),
    (body(messages="hello"), "messages"),
    (body(messages=[None]), "messages[0]"),
    (body(messages=["hello"]), "messages[0]"),
    (body(messages=[[]]), "messages[0]"),
    (body(messages=[{}]), "messages[0].role"),
    # wrong types everywhere
    (said(role=3, content="a"), "messages[0].role"),
    (said(role="robot", content="a"), "messages[0].role"),
    (said(role="user", content=3), "messages[0].content"),
    (said(role="user", content={}), "messages[0].content"),
    (said(role="user", content=["a"]), "messages[0].content[0]"),
    (said(role="user", content=[{}]), "messages[0].content[0].type"),
    (said(role="user", content=[{"type": "text"}]), "messages[0].content[0].text"),
    (said(role="user", content=[{"type": "text", "text": 3}]), "messages[0].content[0].text"),
    (said(role="user", content=[{"type": "image_url"}]), "messages[0].content[0].image_url"),
    (said(role="user", content=[{"type": "image_url", "image_url": None}]), "messages[0].content[0].image_url"),
    (said(role="user", content=[{"type": "image_url", "image_url": {}}]), "messages[0].content[0].image_url.url"),
    (said(role="user", content="a", name=3), "messages[0].name"),
    (said(role="assistant", content=3), "messages[0].content"),
    (said(role="assistant", tool_calls={}), "messages[0].tool_calls"),
    (said(role="assistant", tool_calls=[3]), "messages[0].tool_calls[0]"),
    (said(role="assistant", tool_calls=[{}]), "messages[0].tool_calls[0].function"),
    (said(role="assistant", tool_calls=[{**CALL, "function": {}}]), "messages[0].tool_calls[0].function.name"),
    (said(role="assistant", function_call="f"), "messages[0].function_call"),
    (said(role="tool", content="a", tool_call_id=3), "messages[0].tool_call_id"),
    (body(stream="yes"), "stream"),
    (body(stream_options=[]), "stream_options"),
    (body(n="two"), "n"),
    (body(n=0), "n"),
    (body(n=1.5), "n"),
    (body(n=10**9), "n"),
    (body(max_tokens="many"), "max_tokens"),
    (body(max_tokens=-1), "max_tokens"),
    (body(max_completion_tokens=[]), "max_completion_tokens"),
    (body(temperature="warm"), "temperature"),
    (body(top_p=[]), "top_p"),
    (body(seed="x"), "seed"),
    (body(stop=3), "stop"),
    (body(tools={}), "tools"),
    (body(tools=[3]), "tools[0]"),
    (body(tools=[{}]), "tools[0].type"),
    (body(tools=[{"type": "function"}]), "tools[0].function"),
    (body(tools=[{"type": "function", "function": {"name": 3}}]), "tools[0].function.name"),
    (
        body(tools=[{"type": "function", "function": {"name": "f", "parameters": []}}]),
        "tools[0].function.parameters",
    ),
    (body(tool_choice=3), "tool_choice"),
    (body(functions={}), "functions"),
    (body(response_format="json"), FORM),
    (body(response_format={}), f"{FORM}.type"),
    (body(response_format={"type": "json_schema"}), f"{FORM}.json_schema"),
    (body(response_format={"type": "json_schema", "json_schema": {"schema": []}}), f"{FORM}.json_schema.schema"),
    (body(logit_bias=[]), "logit_bias"),
    (body(reasoning_effort=3), "reasoning_effort"),
    # null content: only an assistant, a tool and a function may have none
    (said(role="user", content=None), "messages[0].content"),
    (said(role="user", content=...), "messages[0].content"),
    (said(role="system", content=None), "messages[0].content"),
    (said(role="developer", content=None), "messages[0].content"),
    # the context
    (body(context=[]), "context"),
    (body(context="point_lookup"), "context"),
    (body(context={"clas": "how_to"}), "context.clas"),
    (body(context={"class": 3}), "context.class"),
    (body(context={"class": ""}), "context.class"),
    (body(context={"class": "nonsense"}), "context.class"),
    (body(context={"explain": "yes"}), "context.explain"),
    (body(context={"examples": 3}), "context.examples"),
    (body(context={"examples": [7]}), "context.examples[0]"),
    (body(context={"examples": ["a"]}), "context.examples[0]"),
    (body(context={"conversation_id": {}}), "context.conversation_id"),
]

INVALID_DOCUMENTS = [
    (body(documents={}), "documents"),
    (body(documents="text"), "documents"),
    (body(documents=3), "documents"),
    (docs(3), "documents[0]"),
    (docs(None), "documents[0]"),
    (docs([]), "documents[0]"),
    (docs({}), "documents[0]"),
    (docs({"id": "a"}), "documents[0]"),
    (docs("fine", {"id": "a", "title": "no text"}), "documents[1]"),
    (docs({"text": 3}), "documents[0].text"),
    (docs({"text": {}}), "documents[0].text"),
    (docs({"text": "a", "content": "b"}), "documents[0].text, documents[0].content"),
    (docs({"text": "a", "id": {}}), "documents[0].id"),
    (docs({"text": "a", "id": ""}), "documents[0].id"),
    (docs({"text": "a", "id": "i" * 257}), "documents[0].id"),
    (docs({"text": "a", "score": "high"}), "documents[0].score"),
    (docs({"text": "a", "score": True}), "documents[0].score"),
    (docs({"text": "a", "chunk_index": 1.5}), "documents[0].chunk_index"),
    (docs({"text": "a", "title": []}), "documents[0].title"),
    (docs({"text": "a", "supersedes": 3}), "documents[0].supersedes"),
    (docs({"text": "a", "access": "all"}), "documents[0].access"),
    (docs({"text": "a", "metadata": []}), "documents[0].metadata"),
    (docs({"id": "a", "text": "one"}, {"id": "a", "text": "other"}), "documents[1].id"),
    (docs({"id": "a", "text": "one"}, {"id": "a", "text": None}), "documents[1].id"),
    (docs(*["t"] * 1_001), "documents"),
]

OTHERS = [
    (docs("a", messages=[{"role": "system", "content": "Be brief."}]), 400, "no_user_message", "messages"),
    (docs(messages=[{"role": "assistant", "content": "Hello"}]), 400, "no_user_message", "messages"),
    (body(model="nobody"), 404, "model_not_found", "model"),
    (body(model="fake/../fake"), 404, "model_not_found", "model"),
    (body(messages=[{"role": "user", "content": "word " * 100_000}]), 400, "context_length_exceeded", "messages"),
    (body(max_tokens=10**12, messages=[{"role": "user", "content": "word " * 20_000}]), 400, None, "messages"),
    (body(padding="x" * MAX_BODY), 413, "request_too_large", None),
]

CASES = [
    *((sent, 400, "invalid_request", param) for sent, param in INVALID),
    *((sent, 400, "invalid_document", param) for sent, param in INVALID_DOCUMENTS),
    *((sent, status, code or "context_length_exceeded", param) for sent, status, code, param in OTHERS),
]


@pytest.mark.parametrize(
    ("sent", "status", "code", "param"),
    CASES,
    ids=[f"{number}-{param}" for number, (_, _, _, param) in enumerate(CASES)],
)
def test_bad_input_is_refused_by_name(
    served: Served, upstream: FakeUpstream, sent: bytes, status: int, code: str, param: str | None
):
    response = served.post(sent)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (status, code, param)
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert SECRET_TEXT not in response.text
    assert upstream.requests == []
    record = served.record(response)
    assert (record["status"], record["error"]["code"], record["error"]["param"]) == (status, code, param)
    assert "Traceback" not in json.dumps(record)
    assert served.http.get(served.process.base_url.replace("/v1", "/livez")).status_code == 200


# --- odd, and good ----------------------------------------------------------------------------------------------------


def reasons(record: dict[str, Any]) -> dict[str, str]:
    return {fate["id"]: fate["reason"] or fate["decision"] for fate in record["documents"]}


@pytest.mark.parametrize("role", ["assistant", "tool", "function"])
@pytest.mark.parametrize("content", [None, ...])
def test_who_may_say_nothing(served: Served, upstream: FakeUpstream, role: str, content: Any):
    more: dict[str, Any] = {"tool_call_id": "c"} if role == "tool" else {"name": "f"} if role == "function" else {}
    sent = said(role=role, content=content, **more)
    assert served.post(sent).status_code == 200
    assert upstream.request().json["messages"] == json.loads(sent)["messages"]


@pytest.mark.parametrize("text", [None, "", " \n\t", "\u200b\u00ad"])
def test_a_text_that_says_nothing_is_empty(served: Served, upstream: FakeUpstream, text: str | None):
    response = served.post(docs({"id": "blank", "text": text}, {"id": "full", "text": "Parcels leave on Mondays."}))
    assert response.status_code == 200
    assert reasons(served.record(response)) == {"blank": "empty", "full": "admitted"}


def test_the_same_document_twice_is_taken_once(served: Served, upstream: FakeUpstream):
    one = {"id": "a", "text": "Parcels leave on Mondays."}
    record = served.record(served.post(docs(one, one)))
    assert [fate["reason"] for fate in record["documents"]] == [None, "repeated_id"]
    assert upstream.request().body.count(b"Mondays") == 1


def test_as_many_documents_as_are_allowed(served: Served, upstream: FakeUpstream):
    response = served.post(docs(*[f"Parcel {i} leaves on day {i}." for i in range(1_000)]))
    assert response.status_code == 200
    assert len(served.record(response)["documents"]) == 1_000


def test_no_documents_at_all(served: Served, upstream: FakeUpstream):
    assert served.post(docs()).headers["x-elbowroom-admitted"] == "0"
    assert served.post(body(documents=None)).status_code == 200
    assert "documents" not in upstream.request(1).json


def test_half_a_character_is_replaced_in_a_document_and_forwarded_elsewhere(served: Served, upstream: FakeUpstream):
    """The escape of a lone surrogate is legal JSON, and some parsers refuse it."""
    untagged = body(messages=[{"role": "user", "content": "half \ud800 of it"}], user="\udfff", model="gpt-4o")
    assert b"\\ud800" in untagged
    assert served.post(untagged).status_code == 200
    assert upstream.request(0).body == untagged

    tagged = docs(
        {"id": "a\ud800", "text": "Parcels \ud800 leave.", "title": "T\udc00"},
        messages=[{"role": "system", "content": "S \udfff"}, {"role": "user", "content": "half \ud800 of it"}],
    )
    response = served.post(tagged)
    assert response.status_code == 200
    sent = upstream.request(1).body
    assert b"half \\ud800 of it" in sent
    assert b"S \\udfff" in sent
    evidence = upstream.request(1).json["messages"][1]["content"].removesuffix("half \ud800 of it")
    assert "Parcels \ufffd leave." in evidence
    evidence.encode()  # no half of a character is left in it
    assert reasons(served.record(response)) == {"a\ufffd": "admitted"}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_only_a_post_is_taken(served: Served, method: str):
    response = served.http.request(method, "/chat/completions")
    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/chat", "/v1/chat/completions/", "/v1/completions", "/docs", "/openapi.json"],
)
def test_elsewhere_there_is_nothing_and_it_is_said_in_json(served: Served, path: str):
    response = served.http.post(served.process.base_url.replace("/v1", path), content=body())
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
    assert response.headers["content-type"] == "application/json"
