"""OpenAI's counting endpoint: what is told, what is refused, and where the number stands."""

from __future__ import annotations

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.endpoints.openai import build

HELLO = {"role": "user", "content": "hello"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def endpoint(api_base: str | None = None, api_key: str | None = "key"):
    return build(CountEndpoint("openai", api_base, api_key, "gpt-4o"))


def test_messages_are_told_in_the_responses_form():
    asked = endpoint().question(
        {
            "messages": [
                {"role": "developer", "content": "Be kind."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, IMAGE]},
                {"role": "assistant", "content": "I see."},
                HELLO,
            ]
        }
    )
    assert asked.url == "https://api.openai.com/v1/responses/input_tokens"
    assert asked.headers == {"authorization": "Bearer key"}
    picture = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
    assert asked.value == {
        "model": "gpt-4o",
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, picture]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "I see."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        ],
    }


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{}]},
        {"functions": [{}]},
        {"response_format": {"type": "json_schema"}},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [{}]}]},
        {"messages": [{"role": "tool", "content": "fine", "tool_call_id": "c"}]},
    ],
)
def test_what_is_billed_otherwise_in_chat_is_refused(more):
    with pytest.raises(CountUnavailable, match="billed otherwise"):
        endpoint().question({"messages": [HELLO], **more})


def test_the_number_stands_in_input_tokens():
    assert endpoint().answer({"object": "response.input_tokens", "input_tokens": 11}) == 11
    assert endpoint().answer({}) is None


def test_another_address_and_no_key():
    asked = endpoint("http://127.0.0.1:1/v1", None).question({"messages": [HELLO]})
    assert (asked.url, asked.headers) == ("http://127.0.0.1:1/v1/responses/input_tokens", {})
