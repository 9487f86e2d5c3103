"""Gemini's `POST /models/MODEL:countTokens`, asked with a whole `generateContentRequest`.

Knows: how chat messages, calls, results and tools are told in Gemini's words.
Does not know: HTTP. A remote picture has no form there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.chatbody import Picture, calls, functions, parts, text
from elbowroom_proxy.ports import EndpointCounter, Question

BASE = "https://generativelanguage.googleapis.com/v1beta"


class CountTokens:
    """Implements `EndpointCounter`."""

    def __init__(self, endpoint: CountEndpoint) -> None:
        self._url = f"{endpoint.api_base or BASE}/models/{endpoint.model}:countTokens"
        self._headers = {"x-goog-api-key": endpoint.api_key} if endpoint.api_key else {}
        self._model = endpoint.model

    def question(self, body: Mapping[str, Any]) -> Question:
        if body.get("response_format"):
            raise CountUnavailable("an answer's format cannot be told to this endpoint", param="response_format")
        told: dict[str, Any] = {"model": f"models/{self._model}", "contents": []}
        system = [text(message) for message in body["messages"] if message["role"] in ("system", "developer")]
        if system:
            told["systemInstruction"] = {"parts": [{"text": one} for one in system]}
        names: dict[str, str] = {}
        for message in body["messages"]:
            if message["role"] not in ("system", "developer"):
                told["contents"].append(_content(message, names))
        if declared := [_declaration(function) for function in functions(body)]:
            told["tools"] = [{"functionDeclarations": declared}]
        return Question(self._url, self._headers, {"generateContentRequest": told})

    def answer(self, value: Mapping[str, Any]) -> Any:
        return value.get("totalTokens")


def _content(message: Mapping[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """`names`: what each call so far was of; a result is told by its function's name."""
    if message["role"] == "tool":
        name = names.get(str(message.get("tool_call_id")), "")
        told = {"functionResponse": {"name": name, "response": {"content": text(message)}}}
        return {"role": "user", "parts": [told]}
    found = [_part(part) for part in parts(message)]
    for call in calls(message):
        names[call.id] = call.name
        found.append({"functionCall": {"name": call.name, "args": call.parsed}})
    return {"role": "model" if message["role"] == "assistant" else "user", "parts": found}


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    if part.data is None:
        raise CountUnavailable("a remote picture cannot be told to this endpoint", param="messages")
    return {"inlineData": {"mimeType": part.media_type, "data": part.data}}


def _declaration(function: Mapping[str, Any]) -> dict[str, Any]:
    told = {"name": function.get("name"), "description": function.get("description") or ""}
    schema = function.get("parameters")
    return {**told, "parametersJsonSchema": schema} if schema else told


def build(endpoint: CountEndpoint) -> EndpointCounter:
    """Gemini's, at its own address or another that speaks the same."""
    return CountTokens(endpoint)
