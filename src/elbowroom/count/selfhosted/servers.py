"""How a server reads a chat request before its template sees it.

Knows: what vLLM, SGLang and transformers' own server do to messages and tools, each as its source says.
Does not know: templates, tokenizers; pictures and sound, which each model turns into tokens in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.errors import CountUnavailable

_TEXT_PARTS = ("text", "input_text", "output_text", "refusal", "thinking")


class Server(Struct, frozen=True):
    """The habits of one server."""

    joint: str  # between the text parts of a content list, where the template wants a string
    keeps_parts: bool  # lists stay lists for templates that walk through them
    text_beside_calls: bool
    names: bool  # `name` and reasoning reach the template
    tools: str  # "as sent", "filled" (absent members become null) or "functions" (filled, without their wrapper)
    drops_unused_tools: bool  # tool_choice none


SERVERS: Mapping[str, Server] = {
    "vllm": Server("\n", True, True, True, "filled", False),
    "sglang": Server(" ", True, True, True, "functions", True),
    "transformers": Server(" ", False, False, False, "as sent", False),
}


def read_messages(body: Mapping[str, Any], server: Server, *, parts: bool) -> list[dict[str, Any]]:
    """The messages as the template sees them; `parts`: it walks through lists of content parts.

    Raises `CountUnavailable` for what is no text.
    """
    return [_message(message, server, parts and server.keeps_parts) for message in body.get("messages") or ()]


def read_tools(body: Mapping[str, Any], server: Server) -> list[Any] | None:
    """The tools as the template sees them; None where there are none."""
    tools = body.get("tools")
    choice = body.get("tool_choice")
    if not tools or (server.drops_unused_tools and choice == "none"):
        return None
    if server.tools == "as sent":
        return list(tools)
    if not all(isinstance(tool, dict) and isinstance(tool.get("function"), dict) for tool in tools):
        raise CountUnavailable("tools other than functions cannot be counted", param="tools")
    filled = [_filled(tool) for tool in tools]
    if server.tools == "filled":
        return filled
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    functions = [tool["function"] for tool in filled]
    return [function for function in functions if named is None or function["name"] == named]


def _filled(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as a server's own record of it is written out: known members first, null where absent."""
    function = tool["function"]
    known = {key: function.get(key) for key in ("name", "description", "parameters")}
    return {"type": "function", **tool, "function": {**known, **function}}


def _message(message: Mapping[str, Any], server: Server, parts: bool) -> dict[str, Any]:
    role, calls = message.get("role"), message.get("tool_calls")
    content = message.get("content")
    texts = _texts(content)
    if calls and not server.text_beside_calls:
        texts = []
    shown: dict[str, Any] = {"role": role}
    if parts and role != "tool" and isinstance(content, list):
        shown["content"] = [{"type": "text", "text": text} for text in texts]
    else:
        shown["content"] = server.joint.join(texts)
    if calls:
        shown["tool_calls"] = [_call(call) for call in calls]
    if "tool_call_id" in message:
        shown["tool_call_id"] = message["tool_call_id"]
    if server.names:
        if isinstance(message.get("name"), str):
            shown["name"] = message["name"]
        reasoning = message.get("reasoning") or message.get("reasoning_content")
        if isinstance(reasoning, str):
            shown["reasoning"] = shown["reasoning_content"] = reasoning
    return shown


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = []
    for part in content or ():
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _TEXT_PARTS:
            raise CountUnavailable(f"a content part of type {kind!r} cannot be counted here", param="messages")
        text = part.get(kind, part.get("text"))
        if isinstance(text, str):
            texts.append(text)
    return texts


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments are JSON in a string on the wire, and an object in a template."""
    function = call.get("function")
    if not isinstance(function, dict):
        raise CountUnavailable("calls of tools other than functions cannot be counted", param="messages")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            arguments = {}
    return {**call, "function": {**function, "arguments": {} if arguments is None else arguments}}
