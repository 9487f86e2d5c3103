"""Embeddings and responses through the whole service, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from elbowroom.errors import InvalidRequest
from elbowroom.read.policy import Policy, Redact, Tool
from elbowroom.read.relayed import read_relayed
from elbowroom.records import Principal
from elbowroom_proxy.deciding import LARGE_BODY
from elbowroom_proxy.relay import check
from tests.e2e.test_budgets import KEY, House
from tests.upstream import WAIT, Answer, Break, FakeUpstream, answer_json, answer_stream

LIMITS = {"max_tokens": 100_000, "rpm_limit": 100, "max_parallel_requests": 5, "models": ["gpt-4o", "demo-small"]}
USAGE = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
ASKED: dict[str, Any] = {"model": "gpt-4o", "input": "hello", "max_output_tokens": 50}


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


DELTA = event("response.output_text.delta", delta="one")
END = event("response.completed", response={"status": "completed", "usage": USAGE})


@pytest.fixture
def house(tmp_path: Path, fake_upstream: FakeUpstream) -> Iterator[House]:
    made = House(fake_upstream, tmp_path, **LIMITS)
    with made.proxy:
        yield made


@pytest.mark.parametrize("prefix", ["", "/.."])  # with and without /v1
def test_embeddings_are_relayed_byte_for_byte_under_the_budget(house: House, fake_upstream: FakeUpstream, prefix: str):
    body = b'{ "model":"gpt-4o", "input" : ["a","b"], "odd":1.50 }'
    reply = b'{ "data":[], "usage":{"prompt_tokens":3,"total_tokens":3} }'
    fake_upstream.answers(Answer(200, {"content-type": "application/json"}, [reply]))
    url = f"{house.proxy.url}{'' if prefix else '/v1'}/embeddings"
    answer = httpx.post(url, content=body, headers={"authorization": f"Bearer {KEY}"}, timeout=WAIT)
    seen = fake_upstream.request()
    assert (seen.path, seen.body, answer.content) == ("/v1/embeddings", body, reply)
    assert answer.headers["x-ratelimit-limit-tokens"] == "100000"
    assert house.spent() == 3
    told = house.record()
    assert told["relayed"] == {"route": "embeddings", "model": "gpt-4o", "edits": []}
    assert (told["model"], told["hold"]["by"], told["hold"]["answer"]) == ("gpt-4o", "bytes", 0)
    assert (told["billed"]["prompt_tokens"], told["status"]) == (3, 200)


def test_a_response_is_relayed_and_settled_by_its_usage(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_json({"object": "response", "status": "completed", "output": [], "usage": USAGE}))
    answer = house.post(ASKED, "/responses")
    assert answer.json()["usage"] == USAGE
    assert fake_upstream.request().path == "/v1/responses"
    assert fake_upstream.request().json == ASKED
    assert house.spent() == 9
    told = house.record()
    assert (told["finish_reason"], told["hold"]["answer"], told["settlement"]["by"]) == ("completed", 50, "usage")


def test_a_streamed_response_is_relayed_event_by_event(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_stream(DELTA, END))
    answer = house.post({**ASKED, "stream": True}, "/responses")
    assert answer.content == DELTA + END
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert house.spent() == 9
    assert house.record()["stream"] is True


def test_a_streamed_response_that_breaks_off_is_charged_for_what_came(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_stream(DELTA, Break()))
    answer = house.post({**ASKED, "stream": True}, "/responses")
    assert b"event: error" in answer.content
    held = house.record()["hold"]["prompt"]
    assert house.spent() == held + 1 + 8


def test_without_a_maximum_the_keys_cap_is_sent(tmp_path: Path, fake_upstream: FakeUpstream):
    house = House(fake_upstream, tmp_path, output_cap=20, **LIMITS)
    with house.proxy:
        fake_upstream.answers(answer_json({"status": "completed", "usage": USAGE}))
        house.post({"model": "gpt-4o", "input": "hello"}, "/responses")
        assert fake_upstream.request().json["max_output_tokens"] == 20
        told = house.record()
        assert told["relayed"]["edits"] == ["output_capped"]
        assert told["hold"]["answer"] == 20


@pytest.mark.parametrize(
    ("route", "body", "status", "param"),
    [
        ("responses", {**ASKED, "previous_response_id": "resp_1"}, 400, "previous_response_id"),
        ("responses", {**ASKED, "documents": []}, 400, "documents"),
        ("embeddings", {"model": "gpt-4o", "input": 7}, 400, "input"),
        ("embeddings", {"model": "nobody", "input": "a"}, 404, "model"),
        ("responses", {**ASKED, "model": "fake"}, 403, "model"),
        ("responses", b"{", 400, None),
    ],
)
def test_what_cannot_be_relayed_is_named_and_costs_nothing(
    house: House, fake_upstream: FakeUpstream, route: str, body: Any, status: int, param: str | None
):
    answer = house.post(body, f"/{route}")
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)
    assert fake_upstream.requests == []
    assert house.spent() == 0


def test_there_is_no_way_round_the_budget(tmp_path: Path, fake_upstream: FakeUpstream):
    house = House(fake_upstream, tmp_path, **{**LIMITS, "max_tokens": 60})
    with house.proxy:
        for path, body in (("/responses", ASKED), ("/embeddings", {"model": "gpt-4o", "input": "x" * 100})):
            answer = house.post(body, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (429, "insufficient_quota")
        for path in ("/completions", "/audio/speech", "/images/generations", "/responses/resp_1", "/moderations"):
            answer = house.post(ASKED, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert fake_upstream.requests == []


def test_a_large_body_is_read_like_any_other(house: House, fake_upstream: FakeUpstream):
    fake_upstream.answers(answer_json({"data": [], "usage": {"prompt_tokens": 9, "total_tokens": 9}}))
    answer = house.post({"model": "gpt-4o", "input": ["x"], "user": "y" * LARGE_BODY}, "/embeddings")
    assert answer.status_code == 200


def test_the_demo_answers_the_sdk_in_both_protocols(house: House):
    with openai.OpenAI(base_url=house.proxy.base_url, api_key=KEY, max_retries=0, timeout=WAIT) as client:
        vectors = client.embeddings.create(model="demo-small", input=["a", "b"])
        assert [len(one.embedding) for one in vectors.data] == [8, 8]
        said = client.responses.create(model="demo-small", input="Where are the offices?")
        assert "demonstration model" in said.output_text
        assert said.usage is not None
        with client.responses.stream(model="demo-small", input="Where are the offices?") as stream:
            kinds = [one.type for one in stream]
        assert kinds[-1] == "response.completed"
        cut = client.responses.create(model="demo-small", input="Where?", max_output_tokens=3)
        assert (cut.status, cut.incomplete_details and cut.incomplete_details.reason) == (
            "incomplete", "max_output_tokens",
        )  # fmt: skip
        strange: Any = [{"type": "strange"}]
        with pytest.raises(openai.BadRequestError):
            client.responses.create(model="demo-small", input=strange)
    spent = house.spent()
    assert vectors.usage.total_tokens == 2
    assert spent > said.usage.total_tokens * 2


TOOLS = [{"type": "function", "name": "find"}, {"type": "web_search", "name": "find"}]


@pytest.mark.parametrize(
    ("principal", "policy", "param"),
    [
        (Principal(), Policy(), None),
        (Principal(tools=("find", "web_search")), Policy(), None),
        (Principal(tools=("find",)), Policy(), "tools[1]"),
        (Principal(), Policy(tools_allow=()), "tools[0]"),
        (Principal(), Policy(redact=Redact(messages=True, packs=())), None),
    ],
)
def test_lists_of_tools_hold_here_too(principal: Principal, policy: Policy, param: str | None):
    asked = read_relayed(json.dumps({**ASKED, "tools": TOOLS}).encode(), "responses")
    if param is None:
        check(asked, principal, policy)
        return
    with pytest.raises(InvalidRequest) as caught:
        check(asked, principal, policy)
    assert caught.value.param == param


def test_a_tool_that_says_its_name_twice_is_refused_where_names_matter():
    body = b'{"model":"m","input":"a","tools":[{"type":"function","name":"find","name":"send"}]}'
    asked = read_relayed(body, "responses")
    check(asked, Principal(), Policy())
    with pytest.raises(InvalidRequest, match="twice"):
        check(asked, Principal(tools=("find", "send")), Policy())
    twin = read_relayed(body.replace(b'"name":"send"', b'"Name":"send"'), "responses")
    with pytest.raises(InvalidRequest, match="small letters"):
        check(twin, Principal(tools=("find",)), Policy())


CALLED: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": "c", "name": "find", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": '{"mail": "a@x.example"}'},
]


@pytest.mark.parametrize(
    "tool", [Tool(response_schema={}), Tool(redact=("mail",)), Tool(redact_packs=("pii",)), Tool(returns="documents")]
)
def test_results_that_must_be_looked_into_are_not_relayed_unseen(tool: Tool):
    asked = read_relayed(json.dumps({**ASKED, "input": CALLED}).encode(), "responses")
    with pytest.raises(InvalidRequest, match="for chats alone") as caught:
        check(asked, Principal(), Policy(tools={"find": tool}))
    assert caught.value.param == "input[1]"
    for other in ({"find": Tool(max_rows=1)}, {"search": tool}):
        check(asked, Principal(), Policy(tools=other))


def test_messages_that_must_be_searched_are_not_relayed_unsearched():
    asked = read_relayed(json.dumps(ASKED).encode(), "responses")
    with pytest.raises(InvalidRequest, match="searched"):
        check(asked, Principal(), Policy(redact=Redact(messages=True)))
