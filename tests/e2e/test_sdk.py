"""What an application does with the SDK all day: ask, stream, call tools, parse, list models."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.e2e.conftest import CLIENT_KEY, HELLO, PARCELS, QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy
from tests.upstream import DONE, WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion, streamed

TAGS = {"documents": [REFUNDS, PARCELS]}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "find_order",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "integer"}},
                "required": ["number"],
                "additionalProperties": False,
            },
        },
    }
]


class Refund(BaseModel):
    days: int
    method: str


def test_a_plain_answer(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(answer_json(completion("good day", prompt_tokens=8)))
    answer = client.chat.completions.create(model="fake", messages=[HELLO])
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("good day", "stop")
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 8


async def test_a_plain_answer_without_blocking(async_client: openai.AsyncOpenAI, upstream: FakeUpstream):
    answer = await async_client.chat.completions.create(model="fake", messages=[HELLO], extra_body=TAGS)
    assert answer.choices[0].message.content == "fine"
    assert "fourteen days" in upstream.request().json["messages"][0]["content"]


def test_a_streamed_answer(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(streamed("good", " ", "day"))
    chunks = list(client.chat.completions.create(model="fake", messages=[HELLO], stream=True))
    assert [part.choices[0].delta.content for part in chunks] == ["", "good", " ", "day", None]
    assert chunks[-1].choices[0].finish_reason == "stop"


async def test_a_streamed_answer_without_blocking(async_client: openai.AsyncOpenAI, upstream: FakeUpstream):
    upstream.answers(streamed("好", "的"))
    stream = await async_client.chat.completions.create(model="fake", messages=[QUESTION], stream=True, extra_body=TAGS)
    assert "".join([part.choices[0].delta.content or "" async for part in stream]) == "好的"


def test_the_stream_helper(client: openai.OpenAI, upstream: FakeUpstream):
    upstream.answers(streamed("good", " day"))
    with client.chat.completions.stream(model="fake", messages=[QUESTION], extra_body=TAGS) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content == "good day"
    assert final.usage is None


async def test_the_stream_helper_without_blocking(async_client: openai.AsyncOpenAI, upstream: FakeUpstream):
    upstream.answers(streamed("good", " day", usage=True))
    asked: Any = {"include_usage": True}
    async with async_client.chat.completions.stream(
        model="fake", messages=[QUESTION], stream_options=asked, extra_body=TAGS
    ) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.content == "good day"
    assert final.usage is not None
    assert final.usage.prompt_tokens == 7


def test_tool_calls_and_their_results(client: openai.OpenAI, upstream: FakeUpstream):
    call = {"id": "call_1", "type": "function", "function": {"name": "find_order", "arguments": '{"number": 7}'}}
    upstream.answers(
        answer_json(completion(tool_calls=[call])), answer_json(completion("Order 7 was returned on Monday."))
    )
    messages: list[Any] = [QUESTION]
    first = client.chat.completions.create(model="fake", messages=messages, tools=TOOLS, extra_body=TAGS).choices[0]
    assert first.finish_reason == "tool_calls"
    assert first.message.tool_calls is not None
    (asked,) = first.message.tool_calls
    assert isinstance(asked, openai.types.chat.ChatCompletionMessageFunctionToolCall)
    assert (asked.function.name, json.loads(asked.function.arguments)) == ("find_order", {"number": 7})

    result = {"role": "tool", "tool_call_id": asked.id, "content": '{"returned": "Monday"}'}
    messages += [first.message.model_dump(exclude_none=True), result]
    second = client.chat.completions.create(model="fake", messages=messages, tools=TOOLS, extra_body=TAGS)
    assert second.choices[0].message.content == "Order 7 was returned on Monday."
    sent = upstream.request(1).json
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool"]
    assert sent["messages"][0]["content"].endswith("\n\n" + QUESTION["content"])
    assert sent["messages"][1:] == messages[1:]
    assert sent["tools"] == TOOLS


def test_streamed_tool_calls(client: openai.OpenAI, upstream: FakeUpstream):
    def call(arguments: str, **more: Any) -> bytes:
        function = {"arguments": arguments, **({"name": "find_order"} if more else {})}
        return chunk({"tool_calls": [{"index": 0, "function": function, **more}]})

    role, end = chunk({"role": "assistant", "content": None}), chunk(finish="tool_calls")
    upstream.answers(
        answer_stream(
            role,
            call("", id="call_1", type="function"),
            call('{"num'),
            call('ber":7}'),
            end,
            DONE,
        )
    )
    with client.chat.completions.stream(model="fake", messages=[QUESTION], tools=TOOLS, extra_body=TAGS) as stream:
        final = stream.get_final_completion()
    (asked,) = final.choices[0].message.tool_calls or []
    assert (asked.id, asked.function.arguments, asked.function.parsed_arguments) == (
        "call_1",
        '{"number":7}',
        {"number": 7},
    )


@pytest.mark.parametrize("stream", [False, True])
def test_a_structured_answer(client: openai.OpenAI, upstream: FakeUpstream, stream: bool):
    said = '{"days": 14, "method": "card"}'
    asked: Any = {"model": "fake", "messages": [QUESTION], "response_format": Refund, "extra_body": TAGS}
    if stream:
        upstream.answers(streamed(said[:9], said[9:]))
        with client.chat.completions.stream(**asked) as events:
            message = events.get_final_completion().choices[0].message
    else:
        upstream.answers(answer_json(completion(said)))
        message = client.chat.completions.parse(**asked).choices[0].message
    assert message.parsed == Refund(days=14, method="card")
    assert upstream.request().json["response_format"]["json_schema"]["name"] == "Refund"


def test_the_headers_of_a_raw_response(client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream):
    upstream.answers(answer_json(completion(), x_ratelimit_remaining_requests="9", x_request_id="theirs"))
    raw = client.chat.completions.with_raw_response.create(model="fake", messages=[QUESTION], extra_body=TAGS)
    record = record_of(proxy, raw.headers["x-request-id"])
    ours = {name: value for name, value in raw.headers.items() if name.startswith("x-elbowroom-")}
    assert ours == {
        "x-elbowroom-trace-id": record["trace_id"],
        "x-elbowroom-mode": "enforce",
        "x-elbowroom-class": record["query_class"],
        "x-elbowroom-evidence-tokens": str(record["evidence_tokens"]),
        "x-elbowroom-admitted": "2",
        "x-elbowroom-dropped": "0",
        "x-elbowroom-evidence-sufficient": "true",
        "x-elbowroom-prompt-tokens": str(record["counted"]["tokens"]),
        "x-elbowroom-count-basis": "modelled",
    }
    assert raw.headers["x-ratelimit-remaining-requests"] == "9"
    assert raw.parse()._request_id == raw.headers["x-request-id"] != "theirs"


def test_what_was_counted_is_what_the_demo_bills(client: openai.OpenAI, proxy: RunningProxy):
    raw = client.chat.completions.with_raw_response.create(model="demo-small", messages=[QUESTION], extra_body=TAGS)
    answer = raw.parse()
    assert answer.usage is not None
    assert str(answer.usage.prompt_tokens) == raw.headers["x-elbowroom-prompt-tokens"]
    assert "[S1]" in (answer.choices[0].message.content or "")


def test_models_are_listed_and_found(client: openai.OpenAI):
    assert {model.id for model in client.models.list()} == {"fake", "org/fake", "demo-small", "demo-large", "gpt-4o"}
    assert client.models.retrieve("demo-small").id == "demo-small"
    assert client.models.retrieve("org/fake").id == "org/fake"
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("nobody")
    assert missing.value.code == "model_not_found"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_base_url_with_and_without_v1(proxy: RunningProxy, upstream: FakeUpstream, path: str):
    with openai.OpenAI(base_url=proxy.url + path, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
        assert sdk.chat.completions.create(model="fake", messages=[HELLO]).choices[0].message.content == "fine"
        assert len(list(sdk.models.list())) == 5


def test_what_is_not_there_is_said_in_json(client: openai.OpenAI):
    with pytest.raises(openai.NotFoundError) as missing:
        client.moderations.create(model="fake", input="hello")
    assert missing.value.code == "not_found"
