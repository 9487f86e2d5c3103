"""Anthropic's `POST /v1/messages/count_tokens`.

Knows: how chat messages, calls, results and tools are told in Anthropic's words.
Does not know: HTTP, or what the provider adds to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.chatbody import Picture, calls, functions, named_choice, parts, text
from elbowroom_proxy.ports import EndpointCounter, Question

BASE = "https://api.anthropic.com"
VERSION = "2023-06-01"
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


class CountTokens:
    """Implements `EndpointCounter`."""

    def __init__(self, endpoint: CountEndpoint) -> None:
        base = (endpoint.api_base or BASE).removesuffix("/v1")
        self._url = f"{base}/v1/messages/count_tokens"
        key = {"x-api-key": endpoint.api_key} if endpoint.api_key else {}
        self._headers = {"anthropic-version": VERSION, **key}
        self._model = endpoint.model

    def question(self, body: Mapping[str, Any]) -> Question:
        if body.get("response_format"):
            raise CountUnavailable("an answer's format cannot be told to this endpoint", param="response_format")
        told: dict[str, Any] = {"model": self._model, "messages": []}
        system = [text(message) for message in body["messages"] if message["role"] in ("system", "developer")]
        if system:
            told["system"] = "\n".join(system)
        for message in body["messages"]:
            if message["role"] not in ("system", "developer"):
                _add(told["messages"], message)
        if tools := [_tool(function) for function in functions(body)]:
            told["tools"] = tools
            if name := named_choice(body):
                told["tool_choice"] = {"type": "tool", "name": name}
            elif (choice := body.get("tool_choice")) in _CHOICES:
                told["tool_choice"] = {"type": _CHOICES[choice]}
        return Question(self._url, self._headers, told)

    def answer(self, value: Mapping[str, Any]) -> Any:
        return value.get("input_tokens")


def _add(messages: list[dict[str, Any]], message: Mapping[str, Any]) -> None:
    """Results of tools are the user's; what one side says in a row is one message."""
    role = "assistant" if message["role"] == "assistant" else "user"
    if message["role"] == "tool":
        blocks = [{"type": "tool_result", "tool_use_id": message.get("tool_call_id"), "content": text(message)}]
    else:
        blocks = [_block(part) for part in parts(message)]
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.parsed} for c in calls(message)]
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _block(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.data is not None:
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}
    return {"type": "image", "source": {"type": "url", "url": part.url}}


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    told = {"name": function.get("name"), "input_schema": function.get("parameters") or {"type": "object"}}
    return {**told, "description": function["description"]} if function.get("description") else told


def build(endpoint: CountEndpoint) -> EndpointCounter:
    """Anthropic's, at its own address or another that speaks the same."""
    return CountTokens(endpoint)
