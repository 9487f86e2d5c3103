"""What each server does to a request before its template sees it."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.count.selfhosted.servers import SERVERS, read_messages, read_tools
from elbowroom.errors import CountUnavailable

PARTS: list[Any] = [
    {"type": "text", "text": "a"},
    "b",
    {"type": "refusal", "refusal": "c"},
    {"type": "text", "text": None},
]
CALL: dict[str, Any] = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
TOOL: dict[str, Any] = {"type": "function", "function": {"parameters": {}, "name": "f"}, "strict": True}


def one(server: str, message: dict, *, parts: bool = False) -> dict:
    [found] = read_messages({"messages": [message]}, SERVERS[server], parts=parts)
    return found


def shown(body: dict, server: str) -> list[Any]:
    tools = read_tools(body, SERVERS[server])
    assert tools is not None
    return tools


@pytest.mark.parametrize(("server", "joined"), [("vllm", "a\nb\nc"), ("sglang", "a b c"), ("transformers", "a b c")])
def test_parts_are_joined_where_a_template_wants_a_string(server, joined):
    assert one(server, {"role": "user", "content": PARTS}) == {"role": "user", "content": joined}


def test_parts_stay_parts_where_a_template_walks_through_them():
    kept = [{"type": "text", "text": text} for text in ("a", "b", "c")]
    assert one("vllm", {"role": "user", "content": PARTS}, parts=True)["content"] == kept
    assert one("vllm", {"role": "user", "content": "a"}, parts=True)["content"] == "a"
    assert one("transformers", {"role": "user", "content": PARTS}, parts=True)["content"] == "a b c"
    assert one("vllm", {"role": "tool", "tool_call_id": "1", "content": PARTS}, parts=True)["content"] == "a\nb\nc"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [('{"x": 1}', {"x": 1}), ("", {}), ("{", {}), (None, {}), ({"x": 1}, {"x": 1}), ("[1]", [1])],
)
def test_arguments_become_objects(arguments, shown):
    call: dict[str, Any] = {"id": "1", "function": {"name": "f", "arguments": arguments}}
    found = one("vllm", {"role": "assistant", "tool_calls": [call]})
    assert found["tool_calls"][0]["function"] == {"name": "f", "arguments": shown}
    assert call["function"]["arguments"] == arguments


def test_text_beside_calls_is_one_servers_and_not_the_others():
    message = {"role": "assistant", "content": "so", "tool_calls": [CALL]}
    assert one("vllm", message)["content"] == "so"
    assert one("transformers", message)["content"] == ""


def test_names_and_reasoning_reach_some_templates():
    message = {"role": "assistant", "content": "a", "name": "bob", "reasoning": "hm"}
    assert one("sglang", message) == {**message, "reasoning_content": "hm"}
    assert one("transformers", message) == {"role": "assistant", "content": "a"}
    assert one("vllm", {"role": "user", "content": None, "name": 1}) == {"role": "user", "content": ""}


@pytest.mark.parametrize("part", [{"type": "image_url"}, 7])
def test_what_is_no_text_is_refused(part):
    with pytest.raises(CountUnavailable, match="content part"):
        one("vllm", {"role": "user", "content": [part]})


def test_other_calls_are_refused():
    with pytest.raises(CountUnavailable, match="calls"):
        one("vllm", {"role": "assistant", "tool_calls": [{"type": "custom"}]})


def test_tools_are_shown_as_each_server_writes_them_out():
    filled: dict[str, Any] = {"name": "f", "description": None, "parameters": {}}
    body = {"tools": [TOOL]}
    assert read_tools(body, SERVERS["transformers"]) == [TOOL]
    assert read_tools(body, SERVERS["vllm"]) == [{"type": "function", "function": filled, "strict": True}]
    assert [*shown(body, "vllm")[0]["function"]] == ["name", "description", "parameters"]
    assert read_tools(body, SERVERS["sglang"]) == [filled]


def test_no_tools_are_none():
    for server in SERVERS.values():
        assert read_tools({"tools": []}, server) is None
        assert read_tools({}, server) is None


def test_a_choice_leaves_out_tools_in_one_server():
    other = {"type": "function", "function": {"name": "g"}}
    body = {"tools": [TOOL, other], "tool_choice": {"type": "function", "function": {"name": "g"}}}
    assert [tool["name"] for tool in shown(body, "sglang")] == ["g"]
    assert read_tools({**body, "tool_choice": "none"}, SERVERS["sglang"]) is None
    assert len(shown({**body, "tool_choice": "none"}, "vllm")) == 2


def test_other_tools_are_refused():
    with pytest.raises(CountUnavailable, match="functions"):
        read_tools({"tools": [{"type": "web_search"}]}, SERVERS["vllm"])
