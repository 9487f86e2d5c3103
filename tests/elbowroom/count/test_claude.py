"""Claude's frame, and what is added to it."""

from __future__ import annotations

import json

import pytest

from elbowroom.count.claude import CALL, CALL_MARGIN, PLAIN_MARGIN, TOOLS, TOOLS_MARGIN, build
from elbowroom.errors import CountUnavailable
from elbowroom.read.families import family_of
from elbowroom.records import Basis, Model, Plan
from elbowroom_proxy import encoders


def counter(family: str = "claude-3"):
    return build(Model("m", "litellm", "m", 200_000, 8_192, "claude", family, "ctok:3.0"))


def said(*turns: tuple[str, object]) -> dict:
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


def test_one_message_is_its_text_and_the_frame():
    plan = counter().plan(said(("user", "hi")))
    assert plan == Plan(7, ("hi",), Basis.CALIBRATED, PLAIN_MARGIN)
    assert counter("claude-4.8").plan(said(("user", "hi"))).constant == 6


def test_a_system_text_costs_itself_and_each_further_turn_its_marks():
    assert counter().plan(said(("system", "s"), ("user", "u"))).constant == 7
    turns = said(("developer", "s"), ("user", "u"), ("assistant", "a"), ("user", "u"))
    assert counter().plan(turns).constant == 7 + 3 + 3
    assert counter("claude-4.8").plan(turns).constant == 6 + 2 + 2
    assert counter().plan(turns).margin == PLAIN_MARGIN + 2


def test_an_instruction_in_between_costs_its_marks():
    assert counter().plan(said(("system", "s"), ("user", "u"), ("system", "t"))).constant == 7 + 3


def test_neighbours_of_one_speaker_are_one_turn():
    assert counter().plan(said(("user", "u"), ("user", "v"))).constant == 7 + 1


def test_tools_bring_their_json_and_a_hidden_text():
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    plan = counter().plan({**said(("user", "u")), "tools": [tool]})
    assert plan.constant == 7 + TOOLS
    assert plan.margin == PLAIN_MARGIN + TOOLS_MARGIN
    assert json.loads(plan.texts[1]) == {"name": "f", "description": "", "input_schema": {"type": "object"}}


def test_calls_and_results_cost_their_texts_and_a_middle_value():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {
        "messages": [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": None, "tool_calls": [call], "function_call": {"name": "g"}},
            {"role": "tool", "tool_call_id": "1", "content": "r"},
        ]
    }
    plan = counter().plan(body)
    assert plan.texts == ("u", "f", "{}", "g", "None", "r")
    assert plan.constant == 7 + 6 + 3 * CALL
    assert plan.margin == PLAIN_MARGIN + 2 + 3 * CALL_MARGIN


def test_a_schema_is_counted_like_a_tool():
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    assert counter().plan({**said(("user", "u")), "response_format": shape}).constant == 7 + TOOLS
    assert counter().plan({**said(("user", "u")), "response_format": {"type": "text"}}).constant == 7


def test_a_picture_costs_the_most_that_one_can():
    plan = counter().plan(said(("user", [{"type": "text", "text": "u"}, {"type": "image_url"}])))
    assert (plan.constant, plan.margin) == (7 + 1_600, PLAIN_MARGIN + 1_600)


@pytest.mark.parametrize("part", [{"type": "input_audio"}, "x"])
def test_other_contents_are_refused(part):
    with pytest.raises(CountUnavailable, match="content part"):
        counter().plan(said(("user", [part])))


@pytest.mark.parametrize("tool", [{"type": "web_search_20250305"}, 7])
def test_other_tools_are_refused(tool):
    with pytest.raises(CountUnavailable, match="functions"):
        counter().plan({"messages": [], "tools": [tool]})


def test_nesting_without_end_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CountUnavailable, match="nested"):
        counter().plan({"messages": [], "tools": [{"name": "f", "parameters": deep}]})


def test_an_unknown_generation_is_refused():
    with pytest.raises(CountUnavailable, match="generation"):
        counter("claude-9")


def test_bytes_prove_nothing():
    assert counter().encloses(said(("user", "u")), 10) is None


def test_recorded_bills_are_within_the_margin(shared):
    """The bar: 90 % of plain requests."""
    rows = [json.loads(line) for line in (shared / "data" / "token_truth.jsonl").read_text("utf-8").splitlines()]
    within: dict[str, list[bool]] = {}
    for row in rows:
        if row["provider"] != "anthropic":
            continue
        found = family_of(row["model"])
        encoder = encoders.load(found.vocabulary)
        plan = counter(found.family).plan(row)
        counted = plan.constant + sum(encoder.tokens(text) for text in plan.texts if text)
        within.setdefault(row["kind"], []).append(abs(counted - row["expected_prompt_tokens"]) <= plan.margin)
    assert all(sum(each) >= 0.9 * len(each) for each in within.values())
    assert len(within["plain"]) >= 20
