"""A chat body taken apart for those who tell it in another provider's words.

Knows: the members of chat messages, calls and tools, and that what has no other form is refused by name.
Does not know: any other provider's words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from elbowroom.errors import CountUnavailable


class Picture(Struct, frozen=True):
    """An image: inside the request as base64, or at an address."""

    url: str
    detail: str | None = None
    media_type: str | None = None  # of a data URL
    data: str | None = None


class ToolCall(Struct, frozen=True):
    id: str
    name: str
    arguments: str

    @property
    def parsed(self) -> dict[str, Any]:
        """The arguments as an object; no object is told as an empty one."""
        try:
            value = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def parts(message: Mapping[str, Any]) -> list[str | Picture]:
    """Texts and pictures of a message, in order."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [content] if content else []
    return [_part(part) for part in content]


def text(message: Mapping[str, Any]) -> str:
    """All text of a message that has nothing else."""
    found = parts(message)
    if any(isinstance(part, Picture) for part in found):
        raise CountUnavailable("pictures cannot be told to this endpoint here", param="messages")
    return "\n".join(str(part) for part in found)


def calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """An assistant's calls."""
    if message.get("function_call"):
        raise CountUnavailable("calls of the older form cannot be told to this endpoint", param="messages")
    return [_call(call) for call in message.get("tool_calls") or ()]


def functions(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The functions of a body's tools."""
    if body.get("functions"):
        raise CountUnavailable("functions of the older form cannot be told to this endpoint", param="functions")
    for tool in body.get("tools") or ():
        if not isinstance(tool, dict) or not isinstance(tool.get("function"), dict):
            raise CountUnavailable("tools other than functions cannot be told to this endpoint", param="tools")
        yield tool["function"]


def named_choice(body: Mapping[str, Any]) -> str | None:
    """The one function that must be called."""
    choice = body.get("tool_choice")
    name = (
        choice["function"].get("name")
        if isinstance(choice, dict) and isinstance(choice.get("function"), dict)
        else None
    )
    return name if isinstance(name, str) else None


def _part(part: Any) -> str | Picture:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("text", "refusal") and isinstance(part.get(kind), str):
        return str(part[kind])
    image = part.get("image_url") if kind == "image_url" else None
    if not isinstance(image, dict) or not isinstance(url := image.get("url"), str):
        raise CountUnavailable(f"a content part of type {kind!r} cannot be told to this endpoint", param="messages")
    head, comma, data = url.partition(";base64,")
    if head.startswith("data:") and comma:
        return Picture(url, image.get("detail"), head.removeprefix("data:"), data)
    return Picture(url, image.get("detail"))


def _call(call: Any) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise CountUnavailable("calls of tools other than functions cannot be told to this endpoint", param="messages")
    return ToolCall(str(call.get("id")), str(function.get("name")), str(function.get("arguments") or "{}"))
