"""The whole request: what the parts add up to, what is refused, and what bytes alone prove."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.count.openai_chat import OpenAIChat, build
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "be good"}
TOOL = {"type": "function", "function": {"name": "f"}}
NAMESPACE = "namespace functions {\n\ntype f = () => any;\n\n} // namespace functions"
SCHEMA = {"type": "json_schema", "json_schema": {"name": "A", "schema": {}}}


def counter(family: str = "gpt-4o", known: bool = True) -> OpenAIChat:
    return build(Model("m", "openai", "m", 8192, 1024, "openai_chat", family, "o200k_base", known))


def plan(family: str = "gpt-4o", **body: Any) -> Plan:
    return counter(family).plan({"messages": [USER], **body})


def test_a_plain_request_is_modelled_without_a_margin() -> None:
    assert plan() == Plan(3 + 4, ("hi",), Basis.MODELLED, 0)
    assert plan("o3").constant == plan("gpt-5").constant == 2 + 4
    assert plan(n=3, temperature=0, seed=1, stop=["x"], logprobs=True, stream=True, reasoning_effort="high") == plan()


@pytest.mark.parametrize("nothing", [{}, {"messages": None}, {"messages": []}, {"messages": [], "tools": []}])
def test_without_messages_there_is_the_priming(nothing: dict[str, Any]) -> None:
    assert counter().plan(nothing) == Plan(3, (), Basis.MODELLED, 0)


@pytest.mark.parametrize("messages", ["hello", {"role": "user", "content": "hello"}, 7])
def test_messages_that_are_no_list_are_not_left_out(messages: Any) -> None:
    with pytest.raises(CountUnavailable, match="not a list"):
        plan(messages=messages)


def test_an_unmapped_model_is_bounded_by_the_dearest_family() -> None:
    unknown = counter("gpt-4o", known=False)
    assert (counter().vocabulary, counter().additive) == ("o200k_base", True)
    assert (unknown.vocabulary, unknown.additive) == ("widest", False)
    assert counter("unknown").plan({"messages": [USER]}) == unknown.plan({"messages": [USER]})
    assert unknown.plan({"messages": [USER]}) == Plan(3 + 16 + 4, ("hi",), Basis.BOUNDED, 0)
    body = {"messages": [SYSTEM, USER], "tools": [{"type": "function", "function": {"name": "f", "strict": True}}]}
    assert unknown.plan(body).constant >= counter("gpt-5").plan(body).constant + 16
    assert unknown.plan({"messages": [USER], "response_format": SCHEMA}).basis is Basis.BOUNDED


def test_tools_join_the_system_message() -> None:
    alone = plan(tools=[TOOL])
    assert alone == Plan(7 + 9, ("hi", NAMESPACE), Basis.MODELLED, 2)
    assert plan(messages=[SYSTEM, USER], tools=[TOOL]).constant == 11 + 9 - 4
    assert plan(functions=[TOOL["function"]]).texts == alone.texts


def test_the_gpt_5_family_says_more_about_tools() -> None:
    assert plan("gpt-5", tools=[TOOL]).constant == 6 + 90
    strict = {"type": "function", "function": {"name": "f", "strict": True}}
    assert plan("gpt-5", tools=[TOOL, strict]).constant == 6 + 91
    assert plan("gpt-5", tools=[TOOL], tool_choice="none").constant == 6 + 90


@pytest.mark.parametrize(
    ("choice", "more", "name"),
    [
        ("auto", 0, None),
        ("required", 0, None),
        ("none", 1, None),
        ({"type": "function", "function": {"name": "f"}}, 7, "f"),
        ({"type": "allowed_tools", "allowed_tools": {}}, 0, None),
        ({"type": "function", "function": None}, 0, None),
        (["f"], 0, None),
    ],
)
def test_the_choice_of_a_tool(choice: Any, more: int, name: str | None) -> None:
    chosen = plan(tools=[TOOL], tool_choice=choice)
    assert chosen.constant == 16 + more
    assert chosen.texts[2:] == (() if name is None else (name,))


def test_the_choice_of_a_function_in_the_older_field() -> None:
    chosen = plan(functions=[{"name": "f"}], function_call={"name": "f"})
    assert (chosen.constant, chosen.texts[2:]) == (16 + 4, ("f",))
    assert plan(function_call={"name": "f"}) == plan()


def test_a_schema_for_the_answer() -> None:
    assert plan(response_format=SCHEMA).constant == 7 + 3 + 4
    assert plan(response_format=SCHEMA).margin == 4
    assert plan(messages=[SYSTEM], response_format=SCHEMA).constant == 7 + 3
    assert plan(messages=[SYSTEM], response_format=SCHEMA, tools=[TOOL]).constant == 7 + 9 - 4
    assert plan(response_format={"type": "json_object"}) == plan()


@pytest.mark.parametrize(
    "member",
    [
        {"web_search_options": {}},
        {"tools": {"f": 1}},
        {"functions": "f"},
        {"tools": [5]},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "function"}]},
        {"tools": [{"type": "function", "function": {"name": 5}}]},
        {"functions": [None]},
    ],
)
def test_what_cannot_be_counted_says_so(member: dict[str, Any]) -> None:
    with pytest.raises(CountUnavailable, match="cannot be counted"):
        plan(**member)


def test_nesting_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(2000):
        schema = {"type": "array", "items": schema}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": schema}}}}
    with pytest.raises(CountUnavailable, match="too deeply"):
        plan(tools=[tool])
    with pytest.raises(CountUnavailable, match="too deeply"):
        plan(response_format={"type": "json_schema", "json_schema": {"schema": schema}})


def test_sizes_of_pictures_may_be_told() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    body = {"messages": [{"role": "user", "content": [image, image]}]}
    told = counter().plan(body, [(512, 512), (1024, 1024)])
    assert (told.constant, told.basis, told.margin) == (7 + 255 + 765, Basis.MODELLED, 6)


PART = st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=9))
CONTENT = st.none() | st.text(max_size=30) | st.lists(PART, max_size=3)
CALLS = st.lists(
    st.builds(
        lambda i, name, arguments: {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}},
        *(
            st.sampled_from("ab"),
            st.text(max_size=12),
            st.sampled_from(["{}", '{ "é": [1, 2] }', "", "1 2", "[1e15 ]"]),
        ),
    ),
    min_size=1,
    max_size=3,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "developer", "tool", "function"]), "content": CONTENT},
        optional={"name": st.text(max_size=5), "tool_calls": CALLS, "tool_call_id": st.sampled_from("ab")},
    ),
    max_size=6,
)


@settings(max_examples=60)
@given(MESSAGES, st.booleans(), st.sampled_from(["gpt-4o", "gpt-5", "unknown"]))
def test_bytes_enclose_the_count(messages: list[dict[str, Any]], escaped: bool, family: str) -> None:
    body = {"model": "m", "messages": messages}
    size = len(json.dumps(body, ensure_ascii=escaped, separators=(",", ":")).encode())
    planned = counter(family).plan(body)
    # A byte-level vocabulary never needs more tokens than the text has bytes.
    most = planned.constant + sum(len(text.encode()) for text in planned.texts)
    bound = counter(family).encloses(body, size)
    assert bound is not None
    assert most <= bound


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": 5},
        {"messages": [5]},
        {"messages": [USER], "tools": [TOOL]},
        {"messages": [USER], "functions": [{"name": "f"}]},
        {"messages": [USER], "response_format": SCHEMA},
        {"messages": [USER], "web_search_options": {"a": 1}},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"messages": [{"role": "user", "content": [5]}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "assistant", "audio": {"id": "a"}}]},
    ],
)
def test_bytes_prove_nothing_of_other_shapes(body: dict[str, Any]) -> None:
    assert counter().encloses(body, 1000) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["text", "image_url", "function"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "image_url", "url", "tool_calls", "function", "name"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=50)
@given(
    st.lists(st.fixed_dictionaries({"role": JSON, "content": JSON, "tool_calls": JSON, "name": JSON}), max_size=3),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("tools", "functions", "tool_choice", "response_format"), JSON)),
)
def test_no_json_raises_anything_else(messages: Any, rest: dict[str, Any]) -> None:
    body = {"messages": messages, **rest}
    counter().encloses(body, 10)
    try:
        planned = counter().plan(body)
    except CountUnavailable:
        return
    assert all(isinstance(text, str) for text in planned.texts)
