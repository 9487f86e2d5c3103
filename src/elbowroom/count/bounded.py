"""An upper bound for a model whose tokenizer is not to be had: a token is at least one byte of UTF-8.

Knows: what each maker adds that no request shows, as far as recorded bills tell.
Does not know: any vocabulary. The bound holds for every byte-level or byte-fallback one; it is far above the truth
(about four times for English, two for Chinese), and says so by its basis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from elbowroom.count.counter import within_depth
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

VOCABULARY = "bytes"
_MESSAGE = 8  # role and separators
_GEMINIS = {"functionDeclarations"}  # functions in Gemini's own words


class Hidden(Struct, frozen=True):
    """What a maker puts around a request, in tokens: at least what recorded bills show."""

    always: int = 8
    with_tools: int = 64


# By the first word of a family. Cohere's models read instructions of the maker's own: 496 tokens were billed for a
# single word, 1,452 with one tool. Claude's tools bring up to 590 tokens along.
HIDDEN: Mapping[str, Hidden] = {
    "gemini": Hidden(),
    "mistral": Hidden(),
    "claude": Hidden(with_tools=640),
    "cohere": Hidden(always=512, with_tools=896),
}
# Nobody told us: Grok is billed 660 tokens for nothing, Llama up to 600 for its first tool.
DEAREST = Hidden(always=768, with_tools=896)


def build(model: Model) -> Bounded:
    """Any model can be bounded."""
    return Bounded(HIDDEN.get(model.family.partition("-")[0], DEAREST))


class Bounded:
    """Implements `Counter`."""

    vocabulary = VOCABULARY
    additive = True

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden

    @within_depth
    def plan(self, body: Mapping[str, Any]) -> Plan:
        """`bounded`. Raises `CountUnavailable` for what is neither text nor a function: bytes do not bound it."""
        messages = body.get("messages")
        constant = self._hidden.always
        texts: list[str] = []
        for message in messages if isinstance(messages, list) else ():
            constant += _MESSAGE
            texts += _texts(message)
        for key in ("tools", "functions", "response_format"):
            if body.get(key):
                constant += self._hidden.with_tools
                texts.append(json.dumps(_functions(body[key]), ensure_ascii=False))
        return Plan(constant, tuple(texts), Basis.BOUNDED)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """JSON is never shorter than the texts in it, save for escapes, which only lengthen it."""
        try:
            plan = self.plan(body)
        except CountUnavailable:
            return None
        return plan.constant + 2 * size


def _texts(message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        return
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            raise CountUnavailable("contents other than text cannot be bounded", param="messages")
        yield part["text"]
    for key in ("name", "tool_call_id", "refusal"):
        if isinstance(message.get(key), str):
            yield message[key]
    for key in ("tool_calls", "function_call"):
        if message.get(key):
            yield json.dumps(message[key], ensure_ascii=False)


def _functions(value: Any) -> Any:
    """A maker's own tools (search, code) bring texts along that no request shows."""
    if isinstance(value, list) and not all(
        isinstance(one, dict) and ("function" in one or "name" in one or one.keys() == _GEMINIS) for one in value
    ):
        raise CountUnavailable("tools other than functions cannot be bounded", param="tools")
    return value
