"""Tool calls and their results.

Knows: that one call is written as a message to the function, that several in one message become one call of a wrapper,
and how the provider writes the results of each.
Does not know: plain messages, or whether a call was answered (one may be counted without the other).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.families import Family
from elbowroom.errors import CountUnavailable

CALL_MARGIN = 2
PARALLEL_MARGIN = 12
_RESULT = 6
_PARALLEL_RESULT = 9
_PREFIX = "functions."


class Calls:
    """The calls of one request so far: whose result a tool message is."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.single: dict[str, str] = {}  # call id -> name, where a message has one call and its result is to come
        self.parallel: set[str] = set()  # call ids of messages with several

    def add(self, bill: Bill, calls: Sequence[Mapping[str, Any]]) -> None:
        """An assistant's calls (`id`, `function.name`, `function.arguments`), without its text."""
        if len(calls) == 1:
            name, arguments = _function(calls[0])
            self.single[_text(calls[0].get("id"))] = name
            # The name is read right behind "functions.", which is two tokens by itself.
            bill.constant += self.family.call - 1
            bill.texts += (_PREFIX + name, _compact(arguments))
            bill.margin += CALL_MARGIN
            return
        uses = []
        for call in calls:
            name, arguments = _function(call)
            self.parallel.add(_text(call.get("id")))
            uses.append(f'{{"recipient_name":{_quoted(_PREFIX + name)},"parameters":{_compact(arguments)}}}')
        bill.constant += self.family.call - 1
        bill.texts.append(f'{{"tool_uses":[{",".join(uses)}]}}')
        bill.margin += PARALLEL_MARGIN

    def add_result(self, bill: Bill, message: Mapping[str, Any], texts: Sequence[str]) -> None:
        """A tool message. Results of parallel calls are sent on as JSON with every non-ASCII letter escaped."""
        identity = _text(message.get("tool_call_id"))
        if identity in self.parallel:
            bill.constant += _PARALLEL_RESULT
            bill.texts += (text if text.isascii() else json.dumps(text)[1:-1] for text in texts)
            return
        bill.constant += _RESULT
        bill.texts.append(self.single.pop(identity, ""))
        bill.texts += texts


def _function(call: Mapping[str, Any]) -> tuple[str, str]:
    function = call.get("function")
    if not isinstance(function, dict):
        return "", ""
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        raise CountUnavailable("a call's arguments that are not text cannot be counted", param="messages")
    return _text(function.get("name")), arguments or ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _compact(arguments: str) -> str:
    """Arguments without the white space between their members; as they are where they are no JSON."""
    if " " not in arguments and "\n" not in arguments:
        return arguments
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments
