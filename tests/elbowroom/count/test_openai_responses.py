"""The Responses form: read as chat, its tools priced in their own way."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom import count
from elbowroom.count import openai_chat, openai_responses
from elbowroom.count.openai_responses import as_chat
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
HELLO = [{"role": "user", "content": "hello"}]


def model(family: str = "gpt-4o", *, known: bool = True) -> Model:
    return Model("m", "openai", "m", 8192, 1024, "openai_responses", family, "o200k_base", known)


def plan(body: dict[str, Any], family: str = "gpt-4o") -> Plan:
    return count.build(model(family)).plan(body)


def test_plain_text_costs_what_it_costs_in_chat():
    chat = openai_chat.build(model())
    for body in ({"input": "hello"}, {"input": HELLO}, {"messages": HELLO}):
        assert plan(body) == chat.plan({"messages": HELLO})
    system = {"messages": [{"role": "system", "content": "Be kind."}, *HELLO]}
    assert plan({"instructions": "Be kind.", "input": "hello"}) == chat.plan(system)


@pytest.mark.parametrize(("family", "bare", "described"), [("gpt-4o", 3, 3), ("o3", 3, 3), ("gpt-5-mini", 8, 9)])
def test_tools_cost_a_constant_beside_their_text(family, bare, described):
    without = plan({"input": "hello"}, family)
    with_tool = plan({"input": "hello", "tools": [TOOL]}, family)
    assert with_tool.constant - without.constant == bare
    assert with_tool.texts[-1] == "namespace functions {\n\ntype f = () => any;\n\n} // namespace functions"
    assert with_tool.margin == openai_responses.TOOLS_MARGIN
    told = plan({"input": "hello", "tools": [{**TOOL, "description": "Does f."}]}, family)
    assert told.constant - without.constant == described


def test_a_tool_may_come_in_either_form_and_a_system_message_saves_nothing():
    nested = {"type": "function", "function": {"name": "f", "parameters": {}}}
    assert plan({"input": "hello", "tools": [nested]}) == plan({"input": "hello", "tools": [TOOL]})
    told = plan({"instructions": "Be kind.", "input": "hello", "tools": [TOOL]})
    assert told.constant - plan({"instructions": "Be kind.", "input": "hello"}).constant == 3
    assert "Be kind." in told.texts


def test_titles_and_descriptions_of_objects_are_written():
    parameters = {"title": "F_args", "description": "All of it.", "properties": {"a": {"title": "A", "type": "string"}}}
    text = plan({"input": "", "tools": [{**TOOL, "parameters": parameters}]}).texts[-1]
    assert "type f = (_: // F_args\n// All of it\n{\n// A\na?: string,\n}) => any;" in text
    bare = {"title": "F_args", "properties": {"a": {"type": "string"}}}
    assert (
        "(_: // F_args\n{ a?: string }) => any;"
        in plan({"input": "", "tools": [{**TOOL, "parameters": bare}]}).texts[-1]
    )


def test_calls_results_and_pictures_are_read_as_in_chat():
    url = "https://example.com/a.png"
    told = as_chat(
        {
            "input": [
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "fine"},
                {"role": "user", "content": [{"type": "input_image", "image_url": url, "detail": "low"}]},
                {"role": "user", "content": [{"type": "input_text", "text": "hello"}, {"type": "input_file"}, 1]},
            ]
        }
    )
    assert told["messages"] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "fine"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url, "detail": "low"}}]},
        {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "input_file"}, 1]},
    ]


def test_earlier_answers_widen_the_margin():
    assert plan({"input": [*HELLO, {"role": "assistant", "content": "hi"}, *HELLO]}).margin == 4


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"input": 1}, "neither text nor a list"),
        ({}, "neither text nor a list"),
        ({"input": ["hello"]}, "not an object"),
        ({"input": [{"type": "reasoning"}]}, "'reasoning'"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "'input_file'"),
        ({"input": "hello", "tools": [{"type": "web_search"}]}, "tools other than functions"),
        ({"input": "hello", "text": {"format": {"type": "json_schema"}}}, "schema"),
        ({"input": "hello", "previous_response_id": "resp_1"}, "previous_response_id stands for"),
        ({"input": "hello", "conversation": {"id": "conv_1"}}, "conversation stands for"),
        ({"input": "hello", "prompt": {"id": "pmpt_1"}}, "prompt stands for"),
        ({"input": "hello", "instructions": [{"role": "system", "content": "be good"}]}, "instructions"),
    ],
)
def test_what_cannot_be_counted_says_what_it_is(body, what):
    with pytest.raises(CountUnavailable, match=what):
        plan(body)


def test_a_result_in_parts_is_its_texts():
    def result(output: Any) -> dict[str, Any]:
        return {"input": [{"type": "function_call_output", "call_id": "1", "output": output}]}

    assert plan(result([{"type": "input_text", "text": "rain"}])) == plan(result("rain"))


def test_a_format_that_is_no_schema_costs_nothing():
    assert plan({"input": "hello", "text": {"format": {"type": "text"}}}) == plan({"input": "hello"})
    assert plan({"input": "hello", "text": {}}) == plan({"input": "hello"})


def test_nesting_has_an_end():
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    with pytest.raises(CountUnavailable, match="nested too deeply"):
        plan({"input": "hello", "tools": [{**TOOL, "parameters": deep}]})


def test_an_unmapped_model_is_bounded():
    told = count.build(model("unknown", known=False))
    assert (told.vocabulary, told.additive) == ("widest", False)
    assert told.plan({"input": "hello"}).basis is Basis.BOUNDED


def test_bytes_bound_what_they_bound_in_chat():
    counter = count.build(model())
    assert counter.encloses({"input": "hello"}, 100) == openai_chat.build(model()).encloses({"messages": HELLO}, 100)
