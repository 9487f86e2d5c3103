"""What a relayed request is held to is never less than what its texts are in tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.budget.relayed import worst_relayed
from elbowroom.budget.worst import Worst
from elbowroom.count.openai_responses import build
from elbowroom.price import Price
from elbowroom.read.relayed import Relayed, read_relayed
from elbowroom.records import Model
from tests.walk import MODEL, tokens

LLAMA = structs.replace(MODEL, counter="bounded", family="unknown", vocabulary="bytes", known=False)


def embeddings(value: Any) -> Relayed:
    return read_relayed(json.dumps({"model": "m", "input": value}).encode(), "embeddings")


def response(**more: Any) -> Relayed:
    return read_relayed(json.dumps({"model": "m", "input": "Where?", **more}).encode(), "responses")


@given(st.text(max_size=60) | st.lists(st.text(max_size=40), max_size=5))
def test_a_text_is_never_more_tokens_than_is_held(value: str | list[str]):
    texts = [value] if isinstance(value, str) else value
    held = worst_relayed(embeddings(value), None, MODEL)
    assert (held.by, held.answer, held.reserve) == ("bytes", 0, 0)
    assert sum(map(tokens, texts)) <= held.prompt


@pytest.mark.parametrize(("value", "many"), [([1, 2, 3], 3), ([[10], [20, 30]], 3)])
def test_tokens_that_come_as_numbers_are_held(value: Any, many: int):
    assert worst_relayed(embeddings(value), None, MODEL).prompt >= many


@pytest.mark.parametrize(("told", "answer"), [(None, 4_096), (9, 9), (10_000, 4_096)])
def test_all_that_a_response_may_emit_is_held(told: int | None, answer: int):
    held = worst_relayed(response(), told, MODEL)
    assert (held.answer, held.reserve, held.unseen) == (answer, answer, False)
    assert worst_relayed(response(reasoning={"effort": "low"}), told, MODEL).unseen


ITEMS: list[dict[str, Any]] = [
    {"type": "message", "id": "m", "status": "completed", "role": "assistant",
     "content": [{"type": "output_text", "text": "x", "annotations": [1], "logprobs": [1]}]},
    {"type": "function_call", "id": "f", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "y"},
]  # fmt: skip


def test_what_of_an_item_nobody_reads_is_held_by_its_bytes():
    plain = worst_relayed(response(input=ITEMS), None, MODEL)
    odd = worst_relayed(response(input=[*ITEMS[:2], {**ITEMS[2], "odd": "zzz"}]), None, MODEL)
    assert (plain.by, odd.prompt - plain.prompt) == ("bytes", 5)
    texts = sum(tokens(text) for text in ("x", "f", "{}", "y"))
    assert texts < plain.prompt < 100


def test_sound_that_has_a_price_of_its_own_is_told():
    dear = structs.replace(MODEL, price=Price(1, 1, sound=True))
    heard = response(input=[{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}])
    assert worst_relayed(heard, None, dear).unpriced == "input_audio"
    assert worst_relayed(response(), None, dear).unpriced is None


TOOL = {
    "type": "function", "name": "find", "description": "Finds things.",
    "parameters": {"type": "object", "properties": {"q": {"$ref": "#/$defs/q"}}, "$defs": {"q": {"type": "string"}}},
}  # fmt: skip


@pytest.mark.parametrize("model", [MODEL, LLAMA])
@pytest.mark.parametrize("more", [{}, {"instructions": "Be brief."}, {"tools": [TOOL]}], ids=str)
def test_texts_instructions_and_tools_are_bounded_by_their_bytes(model: Model, more: dict[str, Any]):
    asked = response(**more)
    held = worst_relayed(asked, 9, model)
    plan = build(MODEL).plan(asked.value)
    counted = plan.constant + plan.margin + sum(map(tokens, plan.texts))
    assert held.by == "bytes"
    assert counted <= held.prompt < 20 * counted + 2_000


@pytest.mark.parametrize(
    "more",
    [
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://x.example/a.pdf"}]}]},
        {"tools": [{"type": "web_search"}]},
        {"input": [{"type": "reasoning", "id": "r", "summary": []}]},
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}},
    ],
)
def test_what_no_bytes_bound_is_held_by_the_window(more: dict[str, Any]):
    assert worst_relayed(response(**more), 9, MODEL) == Worst(MODEL.context_window, "window", 9, 9)
