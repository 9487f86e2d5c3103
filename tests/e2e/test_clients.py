"""What real clients send, recorded from nineteen of them, goes through the engine and through the running proxy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from elbowroom.read.policy import Tool
from elbowroom.read.request import read_request
from elbowroom_proxy import settings
from tests.e2e.conftest import record_of
from tests.proxy import RunningProxy
from tests.upstream import WAIT, FakeUpstream, answer_json, completion, streamed
from tests.walk import bill, pack

POLICY = settings.load(environ={}).policy  # the classes that these clients name are the built-in ones
HOP = {"host", "content-length", "connection", "transfer-encoding"}


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, Any]:
    """By client: its request, what differs when it streams, its tool messages."""
    bodies = json.loads((shared / "data" / "client_bodies.json").read_text("utf-8"))
    return {name: value for name, value in bodies.items() if not name.startswith("_")}


def requests(recorded: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
    """(client, body, headers): plain, streamed, and with each of its tool results in the conversation."""
    found = []
    for name, said in recorded.items():
        body = said["request"]["body"]
        headers = {k: v for k, v in said["request"]["headers"].items() if k not in HOP}
        found += [(name, body, headers), (name, {**body, **said["stream"]}, headers)]
        for message in said.get("tool_messages", ()):
            function = {"name": "search", "arguments": "{}"}
            call = {"id": message["tool_call_id"], "type": "function", "function": function}
            turn = [{"role": "assistant", "content": None, "tool_calls": [call]}, message]
            found.append((name, {**body, "messages": [*body["messages"], *turn]}, headers))
    return found


def test_every_recorded_request_is_packed(recorded: dict[str, Any]):
    every = requests(recorded)
    assert len({name for name, _, _ in every}) == len(recorded) > 10
    for name, body, headers in every:
        request = read_request(json.dumps(body).encode(), headers, max_documents=1_000)
        assert request.tagged, name
        packed = pack(request, POLICY)
        sent = json.loads(packed.body)
        assert {"documents", "context"}.isdisjoint(sent), name
        assert "Paris" in json.dumps(sent["messages"]), name
        assert packed.decision.counted == bill(packed.body), name
        assert [message["role"] for message in sent["messages"]] == [one["role"] for one in body["messages"]], name
        for message, came in zip(sent["messages"], body["messages"], strict=True):
            if came["role"] == "tool":
                parts = [part["type"] for part in came["content"] if isinstance(part, dict)]
                cleaned = isinstance(came["content"], str) and "[S1]" in came["content"]  # a label is ours to give
                assert message == came or "document" in parts or cleaned, name
                assert message["tool_call_id"] == came["tool_call_id"]


def test_every_recorded_tool_message_is_documents_where_the_policy_names_the_tool(recorded: dict[str, Any]):
    policy = structs.replace(POLICY, tools={"search": Tool(returns="documents")})
    forms = 0
    for name, body, headers in requests(recorded):
        request = read_request(json.dumps(body).encode(), headers, max_documents=1_000)
        packed = pack(request, policy)
        assert packed.decision.counted == bill(packed.body), name
        found = [fate for fate in packed.decision.documents if fate.message is not None]
        forms += bool(found)
        tools = [message for message in json.loads(packed.body)["messages"] if message["role"] == "tool"]
        for message, came in zip(tools, [one for one in body["messages"] if one["role"] == "tool"], strict=True):
            assert message["tool_call_id"] == came["tool_call_id"]
            assert found, name
    assert forms > 20


def test_every_recorded_request_is_answered(recorded: dict[str, Any], proxy: RunningProxy, upstream: FakeUpstream):
    with httpx.Client(timeout=WAIT) as http:
        for name, body, headers in requests(recorded):
            upstream.requests.clear()
            streams = bool(body.get("stream"))
            upstream.answers(streamed("Paris [S1].") if streams else answer_json(completion("Paris [S1].")))
            response = http.post(f"{proxy.base_url}/chat/completions", json=body, headers=headers)
            assert response.status_code == 200, (name, response.text)
            assert int(response.headers["x-elbowroom-admitted"]) >= 1, name
            assert response.text.count("context_report") == 1, name
            seen = upstream.request()
            assert not any(one.startswith("x-stainless") for one in seen.headers), name
            assert seen.json["model"] == "gpt-4o"
            assert record_of(proxy, response.headers["x-request-id"])["cited"]["verified"] == ["S1"]
