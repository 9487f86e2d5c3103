"""A request that is handed on as it came, embeddings or a response: read as far as its budget and the rules need.

Knows: the members that decide what it may cost and where it goes, and which would have the provider read what is not in
the request, or would ask for what is done to chats alone.
Does not know: any other member (they travel as they came), prices, policy, who asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from elbowroom.errors import InvalidRequest
from elbowroom.read.rawjson import decode, members, whole
from elbowroom.read.shape import check_names, want

Route = Literal["embeddings", "responses"]

# Documents are packed into chats; what is kept at the provider may be another's, and nobody here knows how long it is.
_PACKED = ("documents", "context")
_KEPT = ("previous_response_id", "conversation", "prompt")
_READ = frozenset({
    *_PACKED, *_KEPT, "model", "input", "stream", "background", "max_output_tokens", "instructions", "tools", "text",
    "reasoning", "service_tier",
})  # fmt: skip
_CHAT = "/v1/chat/completions"
_NUMBERS = "a string, an array of strings, or tokens as whole numbers"


class Relayed(Struct, frozen=True):
    """The request as read."""

    route: Route
    body: bytes  # as it came
    fields: dict[str, bytes]  # every top-level member in order, value as raw JSON
    value: dict[str, Any]  # the same, decoded; never mutated
    model: str
    stream: bool = False

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        """Of each tool that is offered: its path, and what lists know it by, as in a chat: the name of a function or
        custom tool, the type of a provider's own.
        """
        found = self.value.get("tools") or ()
        return tuple((f"tools[{i}]", _known_by(one)) for i, one in enumerate(found))

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """Of each tool's result in the input: its path, and the name that was called."""
        items = list(enumerate(_listed(self.value.get("input")) if self.route == "responses" else ()))
        calls = [one for _, one in items if one.get("type") in ("function_call", "custom_tool_call")]
        names = {str(one.get("call_id")): str(one.get("name")) for one in calls}
        for i, one in items:
            if str(one.get("type")).endswith("_call_output"):
                yield f"input[{i}]", names.get(str(one.get("call_id")), "")

    @property
    def max_output(self) -> int | None:
        """The most tokens of an answer, as the client said it."""
        said: int | None = self.value.get("max_output_tokens")
        return said


def read_relayed(body: bytes, route: Route) -> Relayed:
    """Raises `InvalidRequest` whose `param` is the member at fault."""
    fields = members(body)
    check_names(fields, _READ)
    value = {name: decode(raw, name) for name, raw in fields.items()}
    model = value.get("model")
    if not isinstance(model, str) or not model.strip() or whole(model) != model:
        raise InvalidRequest("model must be the name of a model.", param="model")
    for name in _PACKED:
        if value.get(name) is not None:
            raise InvalidRequest(f"{name} is read at {_CHAT} and not here.", param=name)
    if route == "embeddings":
        _check_texts(value.get("input"))
        return Relayed(route, body, fields, value, model)
    for name in _KEPT:
        if value.get(name) is not None:
            raise InvalidRequest(f"{name} stands for what is kept elsewhere: send it in the request.", param=name)
    _check_params(value)
    for param, item in _items(value.get("input")):
        _check_item(item, param)
    return Relayed(route, body, fields, value, model, stream=bool(value.get("stream")))


def _known_by(tool: Mapping[str, Any]) -> str:
    kind = tool.get("type", "function")
    return str(tool.get("name") if kind in ("function", "custom") else kind)


def _check_texts(value: Any) -> None:
    want(value, (str, list), "input", _NUMBERS)
    for i, one in enumerate(value if isinstance(value, list) else ()):
        want(one, (str, int, list), f"input[{i}]", _NUMBERS)
        for j, token in enumerate(one if isinstance(one, list) else ()):
            want(token, int, f"input[{i}][{j}]", "a whole number")


def _check_params(value: Mapping[str, Any]) -> None:
    if value.get("background"):
        raise InvalidRequest("background is not offered here: wait for the answer.", param="background")
    for name, kinds, words in (
        ("stream", (bool,), "true or false"),
        ("background", (bool,), "true or false"),
        ("max_output_tokens", (int,), "a whole number"),
        ("instructions", (str,), "a string"),
        ("tools", (list,), "an array"),
        ("input", (str, list), "a string or an array"),
    ):
        if value.get(name) is not None:
            want(value[name], kinds, name, words)
    if value.get("max_output_tokens") is not None and value["max_output_tokens"] < 1:
        raise InvalidRequest("max_output_tokens must be at least 1.", param="max_output_tokens")
    for i, tool in enumerate(value.get("tools") or ()):
        want(tool, dict, f"tools[{i}]", "an object")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _items(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every item of the input and every part of its content, each with its path."""
    for i, item in enumerate(_listed(value)):
        want(item, dict, f"input[{i}]", "an object")
        yield f"input[{i}]", item
        for name in ("content", "output"):
            parts = item.get(name)
            for j, part in enumerate(parts if isinstance(parts, list) else ()):
                param = f"input[{i}].{name}[{j}]"
                want(part, dict, param, "an object")
                yield param, part


def _check_item(item: Mapping[str, Any], param: str) -> None:
    kind = item.get("type")
    if kind in ("document", "search_result"):
        raise InvalidRequest(f"Documents are read at {_CHAT} and not here.", param=param)
    if kind == "item_reference" or (kind is None and "id" in item and "content" not in item):
        raise InvalidRequest("An item that is kept elsewhere is not read here: send it whole.", param=param)
