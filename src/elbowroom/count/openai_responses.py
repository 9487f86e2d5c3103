"""What OpenAI bills for a request in its Responses form, as far as it differs from chat.

Knows: how that form is read as chat messages, and that its tools are written and priced in their own way.
Does not know: tokenizers; what chat and this form share (`openai_chat`); tools of the provider's own, and the section
that a schema for the answer becomes here: no recorded bill shows either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from elbowroom.count.counter import within_depth
from elbowroom.count.openai.families import Family, family
from elbowroom.count.openai.images import Size
from elbowroom.count.openai.tools import namespace
from elbowroom.count.openai_chat import WIDEST, OpenAIChat, functions_of
from elbowroom.errors import CountUnavailable
from elbowroom.records import Model, Plan

TOOLS_MARGIN = 3
ANSWERS_MARGIN = 4  # once, where earlier answers are in the request: reasoning beside them may be billed or not
_PARTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
_ELSEWHERE = ("previous_response_id", "conversation", "prompt")  # texts that the provider keeps
_TOOL_MEMBERS = ("tools", "functions", "tool_choice", "function_call")


def build(model: Model) -> OpenAIResponses:
    """The counter of one model; an unmapped one is counted by the dearest family and vocabulary."""
    if not model.known or model.family == "unknown":
        return OpenAIResponses(WIDEST, family("unknown"))
    return OpenAIResponses(model.vocabulary, family(model.family))


class OpenAIResponses:
    """Implements `Counter`."""

    def __init__(self, vocabulary: str, rules: Family) -> None:
        self.vocabulary = vocabulary
        self._family = rules
        self._chat = OpenAIChat(vocabulary, rules)
        self.additive = self._chat.additive

    @within_depth
    def plan(self, body: Mapping[str, Any], sizes: Sequence[Size] = ()) -> Plan:
        """`body` has `input` and `instructions`, or the same told as chat `messages`. `sizes` as in chat."""
        chat = as_chat(body)
        form = chat.get("response_format")
        if isinstance(form, dict) and form.get("type") == "json_schema":
            raise CountUnavailable("an answer's schema cannot be counted in the Responses form", param="text")
        plan = self._chat.plan({name: value for name, value in chat.items() if name not in _TOOL_MEMBERS}, sizes)
        constant, texts, margin = plan.constant, plan.texts, plan.margin
        if any(message.get("role") == "assistant" for message in chat["messages"]):
            margin += ANSWERS_MARGIN
        if functions := functions_of(chat):
            described = any(function.get("description") for function in functions)
            constant += self._family.responses_tools + (self._family.described if described else 0)
            texts = (*texts, namespace(functions, titled=True))
            margin += TOOLS_MARGIN
        return structs.replace(plan, constant=constant, texts=texts, margin=margin)

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """As for chat."""
        return self._chat.encloses(as_chat(body), size)


def as_chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """A Responses body told as a chat body. What has no chat form raises `CountUnavailable`, named."""
    for name in _ELSEWHERE:
        if body.get(name) is not None:
            raise CountUnavailable(f"what {name} stands for is not in the request", param=name)
    told = {name: value for name, value in body.items() if name not in ("input", "instructions", "text")}
    said = body.get("messages")
    if "input" in body:
        said = body["input"]
        said = [{"role": "user", "content": said}] if isinstance(said, str) else said
    if not isinstance(said, list):
        raise CountUnavailable("an input that is neither text nor a list cannot be counted", param="input")
    messages = [_message(item) for item in said]
    if instructions := body.get("instructions"):
        if not isinstance(instructions, str):
            raise CountUnavailable("instructions that are not text cannot be counted", param="instructions")
        messages.insert(0, {"role": "system", "content": instructions})
    told["messages"] = messages
    if isinstance(tools := body.get("tools"), list):
        told["tools"] = [_tool(tool) for tool in tools]
    if isinstance(text := body.get("text"), dict) and text.get("format") is not None:
        told["response_format"] = text["format"]
    return told


def _message(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise CountUnavailable("an input item that is not an object cannot be counted", param="input")
    kind = item.get("type", "message")
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": item.get("call_id"), "function": function}]}
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": _content(item.get("output"))}
    if kind != "message":
        raise CountUnavailable(f"an input item of type {kind!r} cannot be counted", param="input")
    return {**item, "content": _content(item.get("content"))}


def _content(content: Any) -> Any:
    return [_part(part) for part in content] if isinstance(content, list) else content


def _part(part: Any) -> Any:
    """A content part in chat's words; what is none of them is refused by name there."""
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url"), "detail": part.get("detail")}}
    if isinstance(kind, str) and kind in _PARTS:
        return {"type": _PARTS[kind], _PARTS[kind]: part.get(_PARTS[kind])}
    return part


def _tool(tool: Any) -> Any:
    """The flat form of a function in chat's."""
    flat = isinstance(tool, dict) and tool.get("type") == "function" and "function" not in tool
    return {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}} if flat else tool
