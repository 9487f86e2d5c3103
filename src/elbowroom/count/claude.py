"""What Claude counts, by a reconstruction of its tokenizer: texts, a frame, and a text about tools that nobody sees.

Knows: the frame of each generation and how chat messages become Anthropic's, from recorded bills.
Does not know: the vocabulary (the service has it from ctok); what tools add beyond their own text is a middle value
with a wide margin, so everything here is `calibrated`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from msgspec import Struct

from elbowroom.count.counter import within_depth
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

# Bills with tools held 290 to 590 tokens more than the messages and the tools' own JSON.
TOOLS, TOOLS_MARGIN = 440, 170
CALL, CALL_MARGIN = 40, 40
PLAIN_MARGIN = 2
_SYSTEM_AGAIN = 3  # each instruction after the first


class Generation(Struct, frozen=True):
    """Tokens around messages; `picture` is the most that one costs."""

    frame: int
    further: int
    picture: int


GENERATIONS: Mapping[str, Generation] = {
    "claude-3": Generation(frame=7, further=3, picture=1_600),
    "claude-4.7": Generation(frame=7, further=3, picture=4_800),
    "claude-4.8": Generation(frame=6, further=2, picture=4_800),
}


def build(model: Model) -> Claude:
    """Raises `CountUnavailable` for a generation that is not known."""
    generation = GENERATIONS.get(model.family)
    if generation is None:
        raise CountUnavailable(f"model {model.name!r}: there is no generation {model.family!r}", param="model")
    return Claude(model.vocabulary, generation)


class Claude:
    """Implements `Counter`."""

    additive = False  # a token may reach over the end of a line

    def __init__(self, vocabulary: str, generation: Generation) -> None:
        self.vocabulary = vocabulary
        self._generation = generation

    @within_depth
    def plan(self, body: Mapping[str, Any]) -> Plan:
        """`calibrated`. Raises `CountUnavailable` for files, sound and tools of the maker's own."""
        texts: list[str] = []
        constant, margin = self._generation.frame, PLAIN_MARGIN
        messages = [one for one in body.get("messages") or () if isinstance(one, dict)]
        for message in messages:
            cost, doubt, said = self._message(message)
            constant += cost
            margin += doubt
            texts += said
        said_in_turn = [key for key, _ in groupby(map(_speaker, messages)) if key != "system"]
        further = max(0, len(said_in_turn) - 1)
        joined = max(0, sum(_speaker(one) != "system" for one in messages) - len(said_in_turn))
        again = max(0, sum(_speaker(one) == "system" for one in messages) - 1)
        constant += self._generation.further * further + joined + _SYSTEM_AGAIN * again
        margin += further
        tools = [_tool(tool) for tool in (*(body.get("tools") or ()), *(body.get("functions") or ()))]
        if tools:
            texts += tools
            constant += TOOLS
            margin += TOOLS_MARGIN
        if isinstance(body.get("response_format"), dict) and body["response_format"].get("type") == "json_schema":
            texts.append(json.dumps(body["response_format"], ensure_ascii=False))
            constant += TOOLS
            margin += TOOLS_MARGIN
        return Plan(constant, tuple(texts), Basis.CALIBRATED, margin)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """None: the vocabulary is a reconstruction, so bytes prove nothing."""

    def _message(self, message: Mapping[str, Any]) -> tuple[int, int, list[str]]:
        """(tokens beside the texts, how much they may be wrong, texts)."""
        constant, margin, texts = 0, 0, []
        content = message.get("content")
        if isinstance(content, str):
            texts.append(content)
        for part in content if isinstance(content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "image_url":
                constant += self._generation.picture
                margin += self._generation.picture
            elif kind in ("text", "refusal") and isinstance(part.get(kind), str):
                texts.append(part[kind])
            else:
                raise CountUnavailable(f"a content part of type {kind!r} cannot be counted here", param="messages")
        calls = [*(message.get("tool_calls") or ()), *filter(None, [message.get("function_call")])]
        for call in calls:
            function = call.get("function", call) if isinstance(call, dict) else {}
            texts += [str(function.get("name")), str(function.get("arguments"))]
        count = len(calls) + (message.get("role") in ("tool", "function"))
        return constant + CALL * count, margin + CALL_MARGIN * count, texts


def _speaker(message: Mapping[str, Any]) -> str:
    """Who says it in Anthropic's form, where results of tools are the user's and all instructions stand in front."""
    role = message.get("role")
    if role in ("system", "developer"):
        return "system"
    return "assistant" if role == "assistant" else "user"


def _tool(tool: Any) -> str:
    """A function in Anthropic's form."""
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    if not isinstance(function, dict) or "name" not in function:
        raise CountUnavailable("tools other than functions cannot be counted", param="tools")
    return json.dumps(
        {
            "name": function["name"],
            "description": function.get("description") or "",
            "input_schema": function.get("parameters", function.get("input_schema")) or {},
        },
        ensure_ascii=False,
    )
