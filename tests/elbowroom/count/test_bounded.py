"""An upper bound by bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.count.bounded import DEAREST, HIDDEN, build
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def counter(family: str = "gemini"):
    return build(Model("m", "litellm", "m", 8_192, 1_024, "bounded", family, "bytes"))


def size(plan) -> int:
    return plan.constant + sum(len(text.encode()) for text in plan.texts)


def test_every_text_is_in_it():
    body = {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "sys"}]},
            {"role": "user", "content": "use", "name": "bob"},
            {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": "no"},
            {"role": "tool", "tool_call_id": "1", "content": "res"},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "shape", "schema": {}}},
    }
    plan = counter().plan(body)
    assert plan.basis is Basis.BOUNDED
    for text in ("sys", "use", "bob", "no", "1", "res", json.dumps([CALL])):
        assert text in plan.texts
    assert any("shape" in text for text in plan.texts)


def test_a_maker_with_instructions_of_its_own_costs_more():
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert size(counter("cohere").plan(body)) - size(counter().plan(body)) > 400
    tools = {**body, "tools": [{"type": "function", "function": {"name": "f"}}]}
    assert size(counter("claude-4.8").plan(tools)) - size(counter().plan(tools)) > 500


def test_of_an_unknown_maker_the_dearest_is_expected():
    assert all(DEAREST.always >= one.always and DEAREST.with_tools >= one.with_tools for one in HIDDEN.values())
    empty: dict[str, Any] = {"messages": []}
    assert counter("unknown").plan(empty).constant == DEAREST.always > counter().plan(empty).constant


@pytest.mark.parametrize("part", [{"type": "image_url"}, "x"])
def test_contents_other_than_text_are_refused(part):
    body = {"messages": [{"role": "user", "content": [part]}]}
    with pytest.raises(CountUnavailable):
        counter().plan(body)
    assert counter().encloses(body, 10) is None


def test_functions_in_geminis_words_are_functions():
    tools = [{"functionDeclarations": [{"name": "f"}]}]
    assert json.dumps(tools) in counter().plan({"messages": [], "tools": tools}).texts


def test_tools_of_the_makers_own_are_refused():
    with pytest.raises(CountUnavailable, match="functions"):
        counter().plan({"messages": [], "tools": [{"google_search": {}}]})


def test_what_is_no_message_costs_its_frame():
    assert counter().plan({"messages": [7]}).texts == ()
    assert counter().plan({}).constant == 8


def test_the_body_bounds_the_plan():
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert counter().encloses(body, len(json.dumps(body))) >= size(counter().plan(body))


def test_nesting_without_end_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CountUnavailable, match="nested"):
        counter().plan({"messages": [], "tools": [{"name": "f", "x": deep}]})


@pytest.mark.parametrize(("provider", "family"), [("gemini", "gemini"), ("api.cohere.com", "cohere")])
def test_no_recorded_bill_is_above_it(shared, provider, family):
    rows = [json.loads(line) for line in (shared / "data" / "token_truth.jsonl").read_text("utf-8").splitlines()]
    checked = 0
    for row in rows:
        if row["provider"] != provider:
            continue
        try:
            bound = size(counter(family).plan(row))
        except CountUnavailable:
            continue
        checked += 1
        assert bound >= row["expected_prompt_tokens"], row["id"]
    assert checked >= 8
    assert family == "gemini" or family in HIDDEN
