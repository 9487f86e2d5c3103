"""Gemini's counting endpoint: chat told in its words."""

from __future__ import annotations

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.endpoints.gemini import build

HELLO = {"role": "user", "content": "hello"}


def question(body, api_base: str | None = None, api_key: str | None = "key"):
    return build(CountEndpoint("gemini", api_base, api_key, "gemini-2.5-flash")).question(body)


def test_a_conversation_with_calls_is_told_whole():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked = question(
        {
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": [picture, {"type": "text", "text": "look"}]},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "fine"},
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "f", "description": "Does f.", "parameters": {"type": "object"}},
                },
                {"type": "function", "function": {"name": "g"}},
            ],
        }
    )
    assert asked.url == "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens"
    assert asked.headers == {"x-goog-api-key": "key"}
    assert asked.value == {
        "generateContentRequest": {
            "model": "models/gemini-2.5-flash",
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
            "contents": [
                {
                    "role": "user",
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "look"}],
                },
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "f", "response": {"content": "fine"}}}],
                },
            ],
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "f", "description": "Does f.", "parametersJsonSchema": {"type": "object"}},
                        {"name": "g", "description": ""},
                    ]
                }
            ],
        }
    }


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"response_format": {"type": "json_schema"}}, "format"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a"}}]}
                ]
            },
            "remote picture",
        ),
    ],
)
def test_what_has_no_form_there_is_refused(more, what):
    with pytest.raises(CountUnavailable, match=what):
        question({"messages": [HELLO], **more})


def test_the_number_stands_in_total_tokens():
    answer = {"totalTokens": 11, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}]}
    assert build(CountEndpoint("gemini", None, None, "m")).answer(answer) == 11


def test_another_address_and_no_key():
    asked = question({"messages": [HELLO]}, "http://127.0.0.1:1", None)
    assert (asked.url, asked.headers) == ("http://127.0.0.1:1/models/gemini-2.5-flash:countTokens", {})
    assert set(asked.value["generateContentRequest"]) == {"model", "contents"}
