"""What of a chat an SDK may be told, and what of its answers goes on."""

import json
from typing import Any

import pytest

from elbowroom_proxy.sdk import Untold, arguments, completion, piece, reason, usage


def told(**body: Any) -> dict[str, Any]:
    return arguments(json.dumps(body).encode())


def test_what_holds_without_being_said_and_what_no_answer_depends_on_is_left_out():
    body = {"model": "a/b", "messages": [], "temperature": 0, "tools": [{"x": 1}]}
    idle = {"n": 1, "store": False, "presence_penalty": 0.0, "seed": None, "metadata": {"a": 1}, "logit_bias": {}}
    assert told(**body, **idle) == body


@pytest.mark.parametrize(
    "name",
    [
        "api_base", "api_key", "base_url", "callbacks", "custom_llm_provider", "extra_headers", "fallbacks",
        "mock_response", "model_list", "num_retries", "aws_access_key_id", "store", "logging_obj", "client",
    ],
)  # fmt: skip
def test_nothing_reaches_the_sdks_own_controls(name):
    with pytest.raises(Untold, match=name) as caught:
        told(model="a/b", messages=[], **{name: "x"})
    assert caught.value.param == name


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "image_url", "image_url": "http://169.254.169.254/"},
        {"type": "file", "file": {"file_id": "gs://bucket/a.pdf"}},
        {"type": "video_url", "video_url": {"url": "file:///etc/passwd"}},
    ],
)
def test_what_would_have_to_be_fetched_is_refused(part):
    with pytest.raises(Untold, match="data URLs") as caught:
        told(model="a/b", messages=[{"role": "user", "content": [{"type": "text", "text": "See:"}, part]}])
    assert caught.value.param == "messages"


def test_data_urls_and_addresses_in_texts_pass():
    content = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "text", "text": "https://example.org/"},
        "odd",
    ]
    call = {"id": "1", "type": "function", "function": {"name": "get", "arguments": '{"url": "https://a.org"}'}}
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert told(model="m", messages=messages)["messages"] == messages
    assert told(model="m", messages="odd")["messages"] == "odd"
    assert told(model="m", messages=["odd"])["messages"] == ["odd"]


def test_half_a_character_is_replaced_and_a_whole_one_is_not():
    body = b'{"model":"m","messages":[{"role":"user","content":"a\\ud83db \\ud83d\\ude00"}]}'
    assert arguments(body)["messages"][0]["content"] == "a?b 😀"


def test_a_whole_answer_in_openais_members():
    call = {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"tool_calls": [call], "images": [], "provider_specific_fields": {}, "reasoning_content": "hm"}
    said = {
        "id": "i", "created": 1, "model": "m", "object": "x", "service_tier": "y",
        "choices": [{"index": 0, "message": message, "logprobs": {"content": None}, "finish_reason": "tool_calls"}],
    }  # fmt: skip
    assert completion(said) == {
        "id": "i",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                    "reasoning_content": "hm",
                },
                "logprobs": {"content": None},
                "finish_reason": "tool_calls",
            }
        ],
    }


def test_a_chunk_is_billed_where_that_was_asked_for():
    chunk = {"id": "i", "created": 1, "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 0}}
    assert piece(chunk, billed=True)["usage"]["total_tokens"] == 3
    assert piece(chunk, billed=False) == {
        "id": "i",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": None,
        "choices": [],
    }


def test_a_bill_that_nobody_sent_is_none():
    assert usage(None) is None
    assert usage({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}) is None


def test_a_bill_in_openais_members():
    details = {"cached_tokens": 3, "cache_write_tokens": 5, "text_tokens": 2}
    bill = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 99, "prompt_tokens_details": details}
    assert usage({**bill, "completion_tokens_details": {"reasoning_tokens": 1}}) == {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }


@pytest.mark.parametrize(
    ("hour", "told"), [(4, {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 4}), (0, None)]
)
def test_a_bill_says_what_is_kept_for_an_hour(hour, told):
    kept = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": hour}
    details = {"cache_write_tokens": 5, "cache_creation_token_details": kept}
    bill = usage({"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": details})
    assert bill is not None
    assert bill["prompt_tokens_details"].get("cache_creation_token_details") == told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"error": {"message": "No."}}', "No."),
        ('[{"error": {"message": "No."}}]', "No."),
        ('{"type": "error", "error": "No."}', "No."),
        ('{"message": "No."}', "No."),
        ('{"detail": []}', '{"detail": []}'),
        ("<html>" + "x" * 2000, "<html>" + "x" * 994),
        ("[]", "[]"),
        ("", "The provider gave no reason."),
    ],
)
def test_what_an_error_says(text, says):
    assert reason(text) == says
