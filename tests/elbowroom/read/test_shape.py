"""Each member that decides something has one type; the error names the member."""

import pytest

from elbowroom.errors import InvalidRequest
from elbowroom.read.shape import check_functions, check_message, check_names, check_tool_names, check_tools, want

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}], "name": "n"},
        {"role": "user", "content": [{"type": "document", "document": {"data": {}}, "text": "t"}]},
        {"role": "system", "content": "s", "name": None},
        {"role": "developer", "content": "s", "whatever": 1},
        {"role": "assistant"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "annotations": [1]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "tool_calls": []},
        {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "x"}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]},
        {"role": "assistant", "tool_calls": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "tool", "content": None},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "function", "name": "f", "content": None},
    ],
)
def test_what_may_pass(message):
    check_message(message, "messages[0]")


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("hello", ""),
        (None, ""),
        ({"content": "x"}, ".role"),
        ({"role": 1, "content": "x"}, ".role"),
        ({"role": ["user"], "content": "x"}, ".role"),
        ({"role": "critic", "content": "x"}, ".role"),
        ({"role": "user"}, ".content"),
        ({"role": "user", "content": None}, ".content"),
        ({"role": "system", "content": None}, ".content"),
        ({"role": "developer"}, ".content"),
        ({"role": "user", "content": 5}, ".content"),
        ({"role": "user", "content": {"type": "text"}}, ".content"),
        ({"role": "user", "content": ["x"]}, ".content[0]"),
        ({"role": "user", "content": [{"text": "x"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": 1}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "text"}]}, ".content[0].text"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, ".content[0].text"),
        ({"role": "user", "content": [{"type": "other", "text": 1}]}, ".content[0].text"),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": 1}]}, ".content[0].refusal"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": None}]}, ".content[0].image_url"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, ".content[0].image_url.url"),
        ({"role": "user", "content": "x", "name": 1}, ".name"),
        ({"role": "tool", "content": "x", "tool_call_id": 1}, ".tool_call_id"),
        ({"role": "assistant", "refusal": []}, ".refusal"),
        ({"role": "assistant", "tool_calls": {}}, ".tool_calls"),
        ({"role": "assistant", "tool_calls": ["x"]}, ".tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{**CALL, "id": 1}]}, ".tool_calls[0].id"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, ".tool_calls[0].function"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, ".tool_calls[0].function.name"),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            ".tool_calls[0].function.arguments",
        ),
        ({"role": "assistant", "tool_calls": [{"type": "custom"}]}, ".tool_calls[0].custom"),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f", "input": 1}}]},
            ".tool_calls[0].custom.input",
        ),
        ({"role": "assistant", "function_call": "auto"}, ".function_call"),
        ({"role": "assistant", "function_call": {"name": None}}, ".function_call.name"),
    ],
)
def test_what_may_not(message, param):
    with pytest.raises(InvalidRequest) as caught:
        check_message(message, "messages[7]")
    assert caught.value.param == f"messages[7]{param}"
    assert caught.value.message.startswith(f"messages[7]{param} ")


FUNCTION = {"name": "f", "description": None, "parameters": None}


def test_tools_and_functions_that_may_pass():
    check_tools([], "tools")
    check_tools([{"type": "function", "function": FUNCTION}, {"type": "web_search"}], "tools")
    check_functions([{"name": "f", "description": "d", "parameters": {"type": "object"}}], "functions")


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ({}, "tools"),
        ("auto", "tools"),
        ([1], "tools[0]"),
        ([{"function": FUNCTION}], "tools[0].type"),
        ([{"type": "function"}], "tools[0].function"),
        ([{"type": "function", "function": {}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "f", "description": 1}}], "tools[0].function.description"),
        ([{"type": "function", "function": {"name": "f", "parameters": []}}], "tools[0].function.parameters"),
    ],
)
def test_tools_that_may_not(tools, param):
    with pytest.raises(InvalidRequest) as caught:
        check_tools(tools, "tools")
    assert caught.value.param == param


@pytest.mark.parametrize(("functions", "param"), [({}, "functions"), ([[]], "functions[0]")])
def test_functions_that_may_not(functions, param):
    with pytest.raises(InvalidRequest) as caught:
        check_functions(functions, "functions")
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"type": "function", "Type": "web_search", "function": {"name": "f"}}, "there[0].type"),
        ({"type": "function", "function": {"name": "f"}, "FUNCTION": {}}, "there[0].function"),
        ({"name": "f", "Name": "g"}, "there[0].name"),
        ({"type": "function", "function": {"name": "f", "Name": "g"}}, "there[0].function.name"),
        ({"type": "custom", "custom": {"NAME": "g"}}, "there[0].custom.name"),
    ],
)
def test_a_tool_has_one_name_whoever_reads_it(tool, param):
    with pytest.raises(InvalidRequest) as caught:
        check_tool_names([tool], "there")
    assert caught.value.param == param
    check_tool_names([{"type": "function", "function": {"name": "f", "parameters": {"Name": {}}}, "Other": 1}], "there")


def test_true_is_no_number():
    want(True, bool, "p", "true or false")
    want(1, (int, float), "p", "a number")
    with pytest.raises(InvalidRequest):
        want(True, (int, float), "p", "a number")


def test_a_name_that_is_known_in_small_letters_is_written_so():
    check_names(["model", "Odd", "odd"], {"model"})
    for name in ("Model", "MODEL"):
        with pytest.raises(InvalidRequest) as caught:
            check_names(["model", name], {"model"}, "there.")
        assert (caught.value.param, name in caught.value.message) == ("there.model", False)
