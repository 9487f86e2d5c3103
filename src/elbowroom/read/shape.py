"""The shape of chat messages and tools: what must hold before anything is counted or moved.

Knows: which types OpenAI's wire format gives to the members that the engine reads.
Does not know: members that it does not read (they travel untouched), and what an upstream thinks of the order of roles
or of a tool result without its call: the upstream judges that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from elbowroom.errors import InvalidRequest

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MUST_SPEAK = frozenset({"system", "developer", "user"})  # their content may not be null
_OF_A_MESSAGE = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal"})
_OF_A_TOOL = ("type", "name", "function", "custom")


def want(value: Any, kind: type | tuple[type, ...], param: str, words: str) -> None:
    """Refuses a value of another type, and true and false where a number is wanted."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidRequest(f"{param} must be {words}.", param=param)


def check_names(names: Iterable[str], read: Collection[str], at: str = "") -> None:
    """Refuses a name that is one of `read` but for its case: servers written in Go take `Model` for `model`, so what is
    checked and held for here might not be what is answered there. `at` stands before the error's `param`.
    """
    for name in names:
        if name not in read and (meant := name.casefold()) in read:
            raise InvalidRequest(f"{at}{meant} is written in small letters.", param=f"{at}{meant}")


def check_message(value: Any, param: str) -> None:
    """Raises `InvalidRequest` whose `param` is the path of the member at fault, e.g. `messages[3].content[0].text`."""
    want(value, dict, param, "an object")
    check_names(value, _OF_A_MESSAGE, f"{param}.")
    role = value.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidRequest(f"{param}.role must be one of {', '.join(sorted(ROLES))}.", param=f"{param}.role")
    _check_content(value.get("content"), role, f"{param}.content")
    for name in ("name", "tool_call_id", "refusal"):
        if value.get(name) is not None:
            want(value[name], str, f"{param}.{name}", "a string")
    if value.get("tool_calls") is not None:
        want(value["tool_calls"], list, f"{param}.tool_calls", "an array")
        for i, call in enumerate(value["tool_calls"]):
            _check_call(call, f"{param}.tool_calls[{i}]")
    if value.get("function_call") is not None:
        _check_function(value["function_call"], f"{param}.function_call", "arguments")


def _check_content(content: Any, role: str, param: str) -> None:
    if content is None:
        if role in MUST_SPEAK:
            raise InvalidRequest(f"{param} must not be null or missing for the role {role}.", param=param)
        return
    want(content, (str, list), param, "a string or an array of parts")
    if isinstance(content, list):
        for i, part in enumerate(content):
            _check_part(part, f"{param}[{i}]")


def _check_part(part: Any, param: str) -> None:
    want(part, dict, param, "an object")
    kind = part.get("type")
    want(kind, str, f"{param}.type", "a string")
    if kind in ("text", "refusal"):
        want(part.get(kind), str, f"{param}.{kind}", "a string")
    elif part.get("text") is not None:
        want(part["text"], str, f"{param}.text", "a string")
    if kind == "image_url":
        want(part.get("image_url"), (dict, str), f"{param}.image_url", "an object with a url")
        if isinstance(part["image_url"], dict):
            want(part["image_url"].get("url"), str, f"{param}.image_url.url", "a string")


def _check_call(call: Any, param: str) -> None:
    want(call, dict, param, "an object")
    if call.get("id") is not None:
        want(call["id"], str, f"{param}.id", "a string")
    if call.get("type") == "custom":
        _check_function(call.get("custom"), f"{param}.custom", "input")
    else:
        _check_function(call.get("function"), f"{param}.function", "arguments")


def _check_function(function: Any, param: str, said: str) -> None:
    """A call's name and what it is called with (`arguments` of a function, `input` of a custom tool)."""
    want(function, dict, param, "an object")
    want(function.get("name"), str, f"{param}.name", "a string")
    if function.get(said) is not None:
        want(function[said], str, f"{param}.{said}", "a string")


def check_tools(tools: Any, param: str) -> None:
    """`tools` of a request: objects, each with a type, a function with its name."""
    want(tools, list, param, "an array")
    for i, tool in enumerate(tools):
        want(tool, dict, f"{param}[{i}]", "an object")
        want(tool.get("type"), str, f"{param}[{i}].type", "a string")
        if tool["type"] == "function":
            check_function(tool.get("function"), f"{param}[{i}].function")


def check_tool_names(tools: Iterable[Any], param: str) -> None:
    """What a tool is known by has its own name's letters, in the tool and in the function inside of it."""
    for i, tool in enumerate(tools):
        check_names(tool, _OF_A_TOOL, f"{param}[{i}].")
        for kind in ("function", "custom"):
            if isinstance(tool.get(kind), dict):
                check_names(tool[kind], _OF_A_TOOL, f"{param}[{i}].{kind}.")


def check_functions(functions: Any, param: str) -> None:
    """The older `functions`: what `tools` holds under `function`, without the wrapping."""
    want(functions, list, param, "an array")
    for i, function in enumerate(functions):
        check_function(function, f"{param}[{i}]")


def check_function(function: Any, param: str) -> None:
    """One function that a model may call: name, and if given description and parameters."""
    want(function, dict, param, "an object")
    want(function.get("name"), str, f"{param}.name", "a string")
    if function.get("description") is not None:
        want(function["description"], str, f"{param}.description", "a string")
    if function.get("parameters") is not None:
        want(function["parameters"], dict, f"{param}.parameters", "an object")
