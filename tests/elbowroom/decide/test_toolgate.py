"""Tools are taken away by lists alone, and what is left keeps its bytes."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.toolgate import ToolsOut, name_of, names_of, tools_out
from elbowroom.errors import InvalidRequest


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"x": 1.0}}}


def gate(body: dict[str, Any], *allowed: Any) -> ToolsOut:
    fields = {name: json.dumps(value, indent=1).encode() for name, value in body.items()}
    out = tools_out(fields, body, allowed)
    assert {name: json.loads(raw) for name, raw in out.fields.items()} == out.params
    return out


BODY = {
    "model": "m",
    "tools": [function("find"), function("drop"), {"type": "web_search"}],
    "parallel_tool_calls": True,
}


def test_without_a_list_nothing_is_taken():
    out = gate(BODY, None, None)
    assert (out.params, out.removed, set(out.names)) == (BODY, (), {"find", "drop", "web_search"})
    assert gate({"tools": [], "functions": None}, ("x",)).params == {"tools": [], "functions": None}


def test_only_what_is_on_every_list_is_left_as_it_came():
    out = gate(BODY, ("find", "drop"), None, ("find", "web_search"))
    assert (set(out.names), out.removed) == ({"find"}, ("drop", "web_search"))
    assert out.params["tools"] == [function("find")]
    assert json.dumps(BODY["tools"], indent=1).encode().count(out.fields["tools"][1:-1]) == 1
    assert list(out.fields) == list(BODY)


def test_an_empty_list_goes_with_what_speaks_of_it():
    for choice in ("auto", "required", "none"):
        assert gate({**BODY, "tool_choice": choice}, ()).params == {"model": "m"}
    old = {"functions": [{"name": "drop"}], "function_call": "auto", "tools": [function("find")], "tool_choice": "auto"}
    out = gate(old, ("find",))
    assert out.params == {"tools": [function("find")], "tool_choice": "auto"}
    assert out.removed == ("drop",)


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "drop"}},
        {"type": "custom", "custom": {"name": "drop"}},
        {"type": "tool", "name": "drop"},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [7, function("find"), function("drop")]}},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "drop"}]},
    ],
)
def test_a_demand_for_a_removed_tool_is_an_error_that_names_it(choice: dict[str, Any]):
    with pytest.raises(InvalidRequest, match='tool_choice names "drop"') as caught:
        gate({**BODY, "tool_choice": choice}, ("find",))
    assert caught.value.param == "tool_choice"
    assert gate({**BODY, "tool_choice": choice}, ("find", "drop")).params["tool_choice"] == choice


def test_a_demand_in_the_older_form():
    with pytest.raises(InvalidRequest, match="function_call names"):
        gate({"functions": [{"name": "drop"}], "function_call": {"name": "drop"}}, ())
    assert gate({"functions": [{"name": "a"}], "function_call": {"name": "b"}}, ("a",)).removed == ()


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (function("f"), "f"),
        ({"type": "custom", "custom": {"name": "c"}}, "c"),
        ({"type": "custom", "custom": 7}, "None"),
        ({"type": "function", "name": "flat"}, "flat"),
        ({"name": "old"}, "old"),
        ({"type": "web_search", "function": {"name": "f"}}, "web_search"),
        ({"type": "web_search", "name": "f"}, "web_search"),
        ({"type": "custom", "custom": {"name": "c"}, "function": {"name": "f"}, "name": "g"}, "c"),
    ],
)
def test_what_a_tool_is_called_by(tool: dict[str, Any], name: str):
    assert name_of(tool) == name


def test_no_second_name_lets_a_tool_pass():
    """What an upstream calls it counts, not what else stands in it."""
    assert gate({"functions": [{"name": "drop", "function": {"name": "find"}}]}, ("find",)).removed == ("drop",)
    assert gate({"functions": [{"name": "drop", "type": "find"}]}, ("find",)).removed == ("drop",)
    assert gate({"tools": [{"type": "web_search", "name": "find"}]}, ("find",)).removed == ("web_search",)
    with pytest.raises(InvalidRequest, match="function_call names"):
        gate(
            {"functions": [{"name": "drop"}], "function_call": {"name": "drop", "function": {"name": "find"}}},
            ("find",),
        )


def test_a_providers_own_tool_may_be_called_by_its_name():
    tool = {"type": "bash_20250124", "name": "bash"}
    assert gate({"tools": [tool]}, ("bash_20250124",)).names == {"bash_20250124", "bash"}
    assert names_of(tool, "functions") == {"bash"}
    assert names_of({**function("find"), "name": "drop"}) == {"find"}


def test_a_function_in_a_providers_own_tool_may_be_called_where_the_lists_have_it():
    tool = {"type": "builtin_function", "function": {"name": "$search"}}
    assert names_of(tool) == {"builtin_function", "$search"}
    assert gate({"tools": [tool]}).names == {"builtin_function", "$search"}
    assert gate({"tools": [tool]}, ("builtin_function",)).names == {"builtin_function"}
    assert gate({"tools": [tool]}, ("builtin_function", "$search")).names == {"builtin_function", "$search"}
    assert gate({"tools": [tool]}, ("$search",)).removed == ("builtin_function",)


def test_a_demand_goes_by_any_name_of_a_removed_tool_that_no_other_has():
    own = {"type": "bash_1", "name": "bash"}
    choice = {"type": "tool", "name": "bash"}
    with pytest.raises(InvalidRequest, match='names "bash"'):
        gate({"tools": [own], "tool_choice": choice}, ("find",))
    assert gate({"tools": [own, function("bash")], "tool_choice": choice}, ("bash",)).removed == ("bash_1",)
    odd = {"type": "allowed_tools", "allowed_tools": {"tools": 7}}
    assert gate({**BODY, "tool_choice": odd}, ("find",)).params["tool_choice"] == odd


def test_where_a_tool_gives_a_member_twice_lists_cannot_be_held_against_it():
    raw = b'[{"type":"function","function":{"name":"drop"},"function":{"name":"find"}}]'
    params = {"tools": json.loads(raw)}
    assert tools_out({"tools": raw}, params, [None]).names == {"find"}
    with pytest.raises(InvalidRequest, match="in tools is given twice"):
        tools_out({"tools": raw}, params, [("find",)])
    twins = {"tools": [{**function("find"), "Function": {"name": "drop"}}]}
    assert gate(twins).names == {"find"}
    with pytest.raises(InvalidRequest, match="small letters") as caught:
        gate(twins, ("find",))
    assert caught.value.param == "tools[0].function"


def test_no_document_can_be_passed():
    assert list(inspect.signature(tools_out).parameters) == ["fields", "params", "allowed"]


NAMES = st.sampled_from(["a", "b", "c"])


@given(st.lists(NAMES, max_size=4), st.lists(st.none() | st.lists(NAMES, max_size=3), max_size=3))
def test_lists_can_only_take(names: list[str], lists: list[Any]):
    out = gate({"tools": [function(name) for name in names]}, *lists)
    assert out.names == {name for name in names if all(some is None or name in some for some in lists)}
    assert set(out.removed) == set(names) - out.names
    assert [name_of(tool) for tool in out.params.get("tools", ())] == [name for name in names if name in out.names]
