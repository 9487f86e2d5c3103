"""What OpenAI bills for a chat request, modelled on recorded requests and their bills.

Knows: how messages, tools, calls, pictures and formats add up, the margin of each, and what bytes alone prove.
Does not know: tokenizers, other providers, the Responses form. The rules are explained in docs/counting.md.

Not part of the prompt, hence free: n, temperature, seed, stop, logprobs, stream, reasoning_effort, json_object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elbowroom.count.counter import within_depth
from elbowroom.count.openai.bill import Bill
from elbowroom.count.openai.families import Family, family
from elbowroom.count.openai.images import Size
from elbowroom.count.openai.messages import TEXT_PARTS, add_messages
from elbowroom.count.openai.schema import SCHEMA_MARGIN, section
from elbowroom.count.openai.tools import namespace
from elbowroom.errors import CountUnavailable
from elbowroom.records import Basis, Model, Plan

TOOLS_MARGIN = 2
WIDEST = "widest"  # of each text the larger count: o200k needs up to twice as many for identifiers in camelCase
_SYSTEM_SAVES = 4  # tools and formats join the system message; without one they are a message of their own
_NAMED_CHOICE = 7
_NAMED_FUNCTION = 4
_BEYOND_BYTES = ("tools", "functions", "response_format", "web_search_options")
_SPEAKERS = ("system", "developer", "user", "assistant")


def build(model: Model) -> OpenAIChat:
    """The counter of one model; an unmapped one is counted by the dearest family and vocabulary."""
    if not model.known or model.family == "unknown":
        return OpenAIChat(WIDEST, family("unknown"))
    return OpenAIChat(model.vocabulary, family(model.family))


class OpenAIChat:
    """Implements `Counter`."""

    def __init__(self, vocabulary: str, rules: Family) -> None:
        self.vocabulary = vocabulary
        self.additive = vocabulary != WIDEST  # the larger counts of parts may add up to more than that of the whole
        self._family = rules

    @within_depth
    def plan(self, body: Mapping[str, Any], sizes: Sequence[Size] = ()) -> Plan:
        """`sizes` are pixels of the request's pictures, in order, where something else than a header tells them."""
        rules = self._family
        bill = Bill(rules.priming + rules.spare)
        if rules.spare:
            bill.basis = Basis.BOUNDED
        if body.get("web_search_options") is not None:
            raise CountUnavailable("what a web search adds cannot be counted", param="web_search_options")
        functions = functions_of(body) if body.get("tools") or body.get("functions") else []
        messages = body.get("messages") or []
        if not isinstance(messages, list):
            raise CountUnavailable("messages that are not a list cannot be counted", param="messages")
        system = add_messages(bill, messages, rules, with_tools=bool(functions), sizes=sizes)
        if functions:
            self._add_tools(bill, functions, body, system)
        if body.get("response_format") is not None:
            text = section(body["response_format"])
            if text is not None:
                bill.texts.append(text)
                bill.constant += (0 if functions else 3) + (0 if system else _SYSTEM_SAVES)
                bill.margin += SCHEMA_MARGIN
        return bill.plan()

    def _add_tools(self, bill: Bill, functions: list[dict[str, Any]], body: Mapping[str, Any], system: bool) -> None:
        rules = self._family
        older = not body.get("tools")  # the `functions` field
        bill.texts.append(namespace(functions, older=older))
        bill.constant += rules.tools - (_SYSTEM_SAVES if system else 0)
        if rules.described and any(function.get("description") or function.get("strict") for function in functions):
            bill.constant += rules.described
        bill.margin += TOOLS_MARGIN
        if rules.choice_counts:
            choice = body.get("tool_choice") or body.get("function_call")
            if choice == "none":
                bill.constant += 1
            elif name := _named(choice):
                bill.constant += _NAMED_FUNCTION if older else _NAMED_CHOICE
                bill.texts.append(name)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """A token is at least a byte of its text, and JSON is never shorter than the texts and the framing in it.

        Three times the bytes where there are calls: their names are read again with each result, and non-ASCII
        results of parallel calls are escaped, six bytes for two. None for tools, formats and pictures: a reference in
        a schema unfolds to any length, a picture is billed by its pixels.
        """
        messages = body.get("messages")
        if not isinstance(messages, list) or any(body.get(key) for key in _BEYOND_BYTES):
            return None
        factor = 1
        for message in messages:
            if not isinstance(message, dict) or message.get("audio") is not None:
                return None
            content = message.get("content")
            if isinstance(content, list):
                if not all(isinstance(part, dict) and part.get("type") in TEXT_PARTS for part in content):
                    return None
            elif content is not None and not isinstance(content, str):
                return None
            if message.get("role") not in _SPEAKERS or "tool_calls" in message or "function_call" in message:
                factor = 3
        return factor * size + 8 + self._family.spare


def functions_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The functions that the model is told of, from `tools` and from the older `functions`."""
    found = []
    tools, functions = body.get("tools") or [], body.get("functions") or []
    if not isinstance(tools, list) or not isinstance(functions, list):
        raise CountUnavailable("tools that are not a list cannot be counted", param="tools")
    for tool in tools:
        if not isinstance(tool, dict) or tool.get("type", "function") != "function":
            raise CountUnavailable("tools other than functions cannot be counted", param="tools")
        found.append(tool.get("function"))
    for function in (*found, *functions):
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise CountUnavailable("a function without a name cannot be counted", param="tools")
    return [*found, *functions]


def _named(choice: Any) -> str | None:
    """The one function that the model must call."""
    if not isinstance(choice, dict):
        return None
    function = choice.get("function", choice)
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None
