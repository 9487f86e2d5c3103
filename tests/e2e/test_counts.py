"""What is hard to count and hard to cut: billed as counted, in bounded time, and never an error."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.e2e.conftest import QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy
from tests.upstream import FakeUpstream

HARD = {
    "control strings": "<|endoftext|><|im_start|>system<|fim_prefix|>[INST]</s>",
    "no space anywhere": "a" * 200_000,
    "no space in Chinese": "退款政策" * 10_000,
    "Japanese": "返金は十四日以内に支払われます。" * 50,
    "emoji": "👩\u200d🚀🏴😀" * 300,
    "white space": " \n\t\u3000" * 20_000,
    "digits": "1234567890" * 2_000,
    "slashes": "/" * 5_000,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_hard_texts_are_billed_as_they_were_counted(client: openai.OpenAI, proxy: RunningProxy, text: str):
    """By the demo, which counts the body that it gets."""
    for messages, tags in (
        ([{"role": "user", "content": text}], {}),
        ([{"role": "user", "content": text}], {"documents": [REFUNDS]}),
        ([{"role": "system", "content": text}, QUESTION], {"documents": [REFUNDS]}),
        ([QUESTION], {"documents": [REFUNDS, {"id": "hard", "text": f"A fact. {text}"}]}),
    ):
        asked: Any = messages
        raw = client.chat.completions.with_raw_response.create(model="demo-large", messages=asked, extra_body=tags)
        record = record_of(proxy, raw.headers["x-request-id"])
        assert (record["status"], record["count_error"]) == (200, 0)


def tool_talk(content: Any, **function: str) -> list[Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": "find_orders", "arguments": "{}", **function}}
    return [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": content},
    ]


def test_a_tool_result_of_five_thousand_rows_stays_json_and_says_what_is_missing(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    rows = [{"order": number, "state": "shipped"} for number in range(5_000)]
    raw = client.chat.completions.with_raw_response.create(
        model="fake", messages=tool_talk(json.dumps(rows)), extra_body={"documents": [REFUNDS]}
    )
    record = record_of(proxy, raw.headers["x-request-id"])
    (result,) = record["tool_results"]
    sent = upstream.request().json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    kept = json.loads(sent[2]["content"])
    assert str(5_000) in json.dumps(kept)
    assert (result["tool"], result["rows_before"], result["capped"]) == ("find_orders", 5_000, True)
    assert 0 < result["rows_after"] <= 200
    assert "tool_result_capped" in record["edits"]
    assert record["counted"]["tokens"] + record["answer_reserve"] <= 16_000


def test_untagged_tool_results_that_fit_are_left_alone(client: openai.OpenAI, upstream: FakeUpstream):
    content = json.dumps([{"order": number} for number in range(400)])
    client.chat.completions.create(model="fake", messages=tool_talk(content))
    assert upstream.request().json["messages"][2]["content"] == content


def test_a_long_conversation_loses_whole_turns_and_keeps_its_instructions_and_question(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream
):
    system: list[Any] = [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "developer", "content": "Answer in English."},
    ]
    turn = tool_talk("It goes on and on.")
    talk: list[Any] = []
    for number in range(12):
        talk += [
            {**turn[0], "content": f"Question {number}? " * 400},
            *turn[1:],
            {"role": "assistant", "content": "Yes."},
        ]
    raw = client.chat.completions.with_raw_response.create(
        model="fake", messages=[*system, *talk, QUESTION], extra_body={"documents": [REFUNDS]}
    )
    record = record_of(proxy, raw.headers["x-request-id"])
    sent = upstream.request().json["messages"]
    assert sent[:2] == system
    assert sent[-1]["content"].endswith("\n\n" + QUESTION["content"])
    assert "fourteen days" in sent[-1]["content"]
    between = sent[2:-1]
    assert [message["role"] for message in between] == ["user", "assistant", "tool", "assistant"] * (len(between) // 4)
    assert len(record["history_dropped"]) == len(talk) - len(between) > 0
    assert "history_evicted" in record["edits"]


@pytest.mark.parametrize("maximum", [3_000, 1_000_000])
def test_a_maximum_that_does_not_fit_is_lowered_to_what_is_left(
    client: openai.OpenAI, proxy: RunningProxy, upstream: FakeUpstream, maximum: int
):
    raw = client.chat.completions.with_raw_response.create(
        model="fake", messages=[{"role": "user", "content": "word " * 14_000}], max_tokens=maximum
    )
    record = record_of(proxy, raw.headers["x-request-id"])
    sent = upstream.request().json["max_tokens"]
    assert 256 <= sent < 3_000
    assert record["counted"]["tokens"] + sent <= 16_000
    assert "output_clamped" in record["edits"]
