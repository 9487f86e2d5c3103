"""Anthropic's counting endpoint: chat told in its words."""

from __future__ import annotations

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.endpoints.anthropic import build

HELLO = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "function": {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}}


def question(body, api_base: str | None = None, api_key: str | None = "key"):
    return build(CountEndpoint("anthropic", api_base, api_key, "claude-sonnet-4-5")).question(body)


def test_a_conversation_with_calls_is_told_whole():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    inside = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    outside = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    asked = question(
        {
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [inside, outside, {"type": "text", "text": "look"}]},
                {"role": "assistant", "content": "I will.", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "fine"},
                HELLO,
            ],
            "tools": [TOOL, {"type": "function", "function": {"name": "g"}}],
            "tool_choice": "required",
        }
    )
    assert asked.url == "https://api.anthropic.com/v1/messages/count_tokens"
    assert asked.headers == {"anthropic-version": "2023-06-01", "x-api-key": "key"}
    assert asked.value == {
        "model": "claude-sonnet-4-5",
        "system": "Be kind.\nBe brief.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                    {"type": "text", "text": "look"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I will."},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "fine"},
                    {"type": "text", "text": "hello"},
                ],
            },
        ],
        "tools": [
            {"name": "f", "input_schema": {"type": "object"}, "description": "Does f."},
            {"name": "g", "input_schema": {"type": "object"}},
        ],
        "tool_choice": {"type": "any"},
    }


def test_a_named_choice_and_one_that_nobody_knows():
    named = {"type": "function", "function": {"name": "f"}}
    body = {"messages": [HELLO], "tools": [TOOL]}
    assert question({**body, "tool_choice": named}).value["tool_choice"] == {"type": "tool", "name": "f"}
    assert "tool_choice" not in question({**body, "tool_choice": None}).value
    assert "tool_choice" not in question({"messages": [HELLO], "tool_choice": "none"}).value


def test_a_format_is_refused():
    with pytest.raises(CountUnavailable, match="format"):
        question({"messages": [HELLO], "response_format": {"type": "json_schema"}})


def test_the_number_stands_in_input_tokens():
    assert build(CountEndpoint("anthropic", None, None, "m")).answer({"input_tokens": 14}) == 14


def test_another_address_and_no_key():
    asked = question({"messages": [HELLO]}, "http://127.0.0.1:1/v1", None)
    assert asked.url == "http://127.0.0.1:1/v1/messages/count_tokens"
    assert asked.headers == {"anthropic-version": "2023-06-01"}
    assert "system" not in asked.value
