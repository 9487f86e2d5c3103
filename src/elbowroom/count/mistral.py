"""What Mistral's models count: texts between control tokens, as mistral-common lays them out.

Knows: the layouts of its tokenizer versions 3, 7, 11, 13 and 15, which `Model.family` names (`mistral-v13`).
Does not know: the vocabulary (the service has it from mistral-common); pictures and sound.

A control token is one token that no text can contain, so texts are encoded apart and the sum is exact where the
version is right. Which version serves a name is not published, hence `modelled`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct

from elbowroom.count.counter import within_depth
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

CALLS_MARGIN = 2


class Layout(Struct, frozen=True):
    """What differs between versions."""

    system_message: bool = True  # else its text is put before the last user text
    call_list: bool = False  # all calls of a message are one JSON list
    call_id: bool = False
    result: str = "plain"  # a tool's result: "json" with its call's id in it, "id" beside it, or "plain"
    settings: bool = False  # reasoning_effort is told to the model
    joint: str = "\n\n"  # between text parts of one message


LAYOUTS: Mapping[str, Layout] = {
    "mistral-v3": Layout(system_message=False, call_list=True, call_id=True, result="json"),
    "mistral-v7": Layout(call_list=True, call_id=True, result="id"),
    "mistral-v11": Layout(call_id=True, result="id"),
    "mistral-v13": Layout(),
    "mistral-v15": Layout(settings=True, joint=""),
}


def build(model: Model) -> Mistral:
    """Raises `CountUnavailable` for a version that is not known."""
    layout = LAYOUTS.get(model.family)
    if layout is None:
        raise CountUnavailable(f"model {model.name!r}: Mistral has no layout {model.family!r}", param="model")
    return Mistral(model.vocabulary, layout)


class Mistral:
    """Implements `Counter`."""

    additive = True

    def __init__(self, vocabulary: str, layout: Layout) -> None:
        self.vocabulary = vocabulary
        self._layout = layout

    @within_depth
    def plan(self, body: Mapping[str, Any]) -> Plan:
        """`modelled`. Raises `CountUnavailable` for contents that are no text."""
        layout, texts = self._layout, []
        constant, margin = 1, 0  # the beginning of the text
        messages = body.get("messages") or ()
        system = [self._text(message) for message in messages if _role(message) == "system"]
        said = [message for message in messages if layout.system_message or _role(message) != "system"]
        before = "\n\n".join(filter(None, system)) if not layout.system_message else ""
        groups = [(role, list(group)) for role, group in groupby(said, _role)]
        if not layout.system_message and (not groups or groups[0][0] != "user"):
            groups.insert(0, ("user", []))
        last_user = max((i for i, (role, _) in enumerate(groups) if role == "user"), default=-1)
        for i, (role, group) in enumerate(groups):
            if role == "user":
                constant += 2
                text = "\n\n".join(filter(None, map(self._text, group)))
                texts.append(f"{before}\n\n{text}" if before and i == last_user else text)
            elif role == "system":
                constant += 2 * len(group)
                texts += map(self._text, group)
            elif role == "assistant":
                cost, spoken = self._assistant(group)
                constant += cost
                texts += spoken
                margin += CALLS_MARGIN if cost > 1 else 0
            else:
                for message in group:
                    cost, spoken = self._result(message)
                    constant += cost
                    texts += spoken
        if body.get("tools") and last_user >= 0:
            constant += 2
            texts.append(_json([_tool(tool) for tool in body["tools"]]))
        if layout.settings and last_user >= 0:
            constant += 2
            texts.append(_json({"reasoning_effort": body.get("reasoning_effort") or "none"}))
        return Plan(constant, tuple(texts), Basis.MODELLED, margin)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """A token is at least a byte of its text; calls are written out anew. None for tools."""
        if body.get("tools"):
            return None
        return 3 * size + 32

    def _assistant(self, group: Iterable[Mapping[str, Any]]) -> tuple[int, list[str]]:
        """(control tokens, texts) of neighbouring assistant messages, which are one."""
        layout = self._layout
        group = list(group)
        text = "\n\n".join(filter(None, map(self._text, group))).rstrip(" ")
        calls = [call for message in group for call in message.get("tool_calls") or ()]
        texts, constant = [text], 1
        prepared = [_call(call) for call in calls]
        if prepared and layout.call_list:
            constant += 1
            texts.append(_json([{"name": name, "arguments": args, "id": key} for name, args, key in prepared]))
        elif prepared:
            for name, arguments, key in prepared:
                constant += 3 if layout.call_id else 2
                texts += [name, _json(arguments), *([key] if layout.call_id else [])]
        return constant, texts

    def _result(self, message: Mapping[str, Any]) -> tuple[int, list[str]]:
        text, key = self._text(message), str(message.get("tool_call_id") or "")
        if self._layout.result == "json":
            return 2, [_json({"content": _parsed(text or "{}"), "call_id": key})]
        return (3, [key, text]) if self._layout.result == "id" else (2, [text])

    def _text(self, message: Mapping[str, Any]) -> str:
        content = message.get("content")
        if content is None or isinstance(content, str):
            return content or ""
        texts = []
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                raise CountUnavailable("contents other than text cannot be counted for this model", param="messages")
            texts.append(part["text"])
        return self._layout.joint.join(filter(None, texts))


def _role(message: Mapping[str, Any]) -> str:
    role = str(message.get("role"))
    return "system" if role == "developer" else role


def _tool(tool: Any) -> dict[str, Any]:
    """A tool as mistral-common writes it out: these members, in this order."""
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict):
        raise CountUnavailable("tools other than functions cannot be counted", param="tools")
    return {
        "type": "function",
        "function": {
            "name": function.get("name"),
            "description": function.get("description") or "",
            "parameters": function.get("parameters") or {},
        },
    }


def _call(call: Any) -> tuple[str, Any, str]:
    """(name, arguments as JSON has them, id)."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise CountUnavailable("calls of tools other than functions cannot be counted", param="messages")
    arguments = function.get("arguments")
    return str(function.get("name")), _parsed(arguments or "{}"), str(call.get("id") or "")


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
