"""Requests that are handed on: what is read of them, and what must not be in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.errors import InvalidRequest
from elbowroom.read.relayed import read_relayed


def responses(**more: Any) -> bytes:
    return json.dumps({"model": "m", "input": "hi", **more}).encode()


def embeddings(value: Any, **more: Any) -> bytes:
    return json.dumps({"model": "m", "input": value, **more}).encode()


@pytest.mark.parametrize("value", ["text", ["a", "b"], [1, 2], [[1], [2, 3]], []])
def test_texts_and_tokens_are_embedded(value: Any):
    body = embeddings(value, odd=1.50)
    asked = read_relayed(body, "embeddings")
    assert (asked.body, asked.model, asked.stream, asked.max_output, asked.tools) == (body, "m", False, None, ())
    assert json.loads(asked.fields["input"]) == value


@pytest.mark.parametrize(
    ("value", "param"),
    [(None, "input"), (7, "input"), ({"a": 1}, "input"), ([{"text": "a"}], "input[0]"), ([True], "input[0]"),
     ([[1, "a"]], "input[0][1]")],
)  # fmt: skip
def test_what_cannot_be_embedded_is_named(value: Any, param: str):
    with pytest.raises(InvalidRequest) as caught:
        read_relayed(embeddings(value), "embeddings")
    assert caught.value.param == param


def test_a_response_is_read_as_far_as_it_matters():
    tools = [{"type": "function", "name": "find"}, {"type": "web_search", "name": "find"}]
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}], "id": "msg_1"},
        {"type": "message", "role": "assistant", "content": "yes"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "3"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
    ]
    asked = read_relayed(
        responses(input=items, tools=tools, stream=True, max_output_tokens=9, background=False, prompt=None),
        "responses",
    )
    assert (asked.stream, asked.max_output) == (True, 9)
    assert asked.tools == (("tools[0]", "find"), ("tools[1]", "web_search"))
    called = {"type": "custom_tool_call", "call_id": "c", "name": "own", "input": "x"}
    results = [{"type": f"{kind}_call_output", "call_id": ident} for kind, ident in (("function", "c"), ("shell", [1]))]
    asked = read_relayed(responses(input=[*results, called]), "responses")
    assert list(asked.results) == [("input[0]", "own"), ("input[1]", "")]
    assert list(read_relayed(responses(input="hello"), "responses").results) == []
    assert list(read_relayed(responses(input=["hello"]), "embeddings").results) == []


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"documents": [{"id": "a"}]}, "documents"),
        ({"context": {}}, "context"),
        ({"background": True}, "background"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"input": [{"role": "user", "content": [{"type": "document"}]}]}, "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{"type": "search_result"}]}]}, "input[0].content[0]"),
        ({"input": [{"type": "function_call_output", "output": [{"type": "document"}]}]}, "input[0].output[0]"),
        ({"input": [{"role": "user", "content": "a"}, {"type": "item_reference", "id": "m"}]}, "input[1]"),
        ({"input": [{"id": "msg_1"}]}, "input[0]"),
        ({"input": ["text"]}, "input[0]"),
        ({"input": [{"role": "user", "content": ["text"]}]}, "input[0].content[0]"),
        ({"input": 7}, "input"),
        ({"stream": "yes"}, "stream"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": "9"}, "max_output_tokens"),
        ({"instructions": 7}, "instructions"),
        ({"tools": {}}, "tools"),
        ({"tools": ["find"]}, "tools[0]"),
        ({"model": None}, "model"),
        ({"model": "  "}, "model"),
    ],
)
def test_what_must_not_be_in_a_response_is_named(more: dict[str, Any], param: str):
    with pytest.raises(InvalidRequest) as caught:
        read_relayed(responses(**more), "responses")
    assert caught.value.param == param


@pytest.mark.parametrize("name", ["documents", "context"])
def test_documents_are_not_embedded(name: str):
    with pytest.raises(InvalidRequest, match="/v1/chat/completions"):
        read_relayed(embeddings("a", **{name: []}), "embeddings")


def test_null_is_nothing():
    body = responses(documents=None, context=None, background=None, previous_response_id=None, tools=None)
    assert read_relayed(body, "responses").tools == ()
    assert read_relayed(json.dumps({"model": "m"}).encode(), "responses").max_output is None


@pytest.mark.parametrize("name", ["Model", "Max_Output_Tokens", "Tools", "Previous_Response_ID"])
def test_what_only_some_servers_would_read_is_refused(name: str):
    with pytest.raises(InvalidRequest) as caught:
        read_relayed(responses(**{name: "x"}), "responses")
    assert caught.value.param == name.lower()
