"""OpenAI's `POST /responses/input_tokens`, for prompts whose bill is the same in both of its forms.

Knows: how plain messages and pictures are told in the Responses form.
Does not know: HTTP. Tools, calls and schemas are billed otherwise there than in chat, so it refuses them: an exact
number of another request would be no count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.chatbody import Picture, parts
from elbowroom_proxy.ports import EndpointCounter, Question

BASE = "https://api.openai.com/v1"
_DIFFERS = ("tools", "functions", "response_format")


class InputTokens:
    """Implements `EndpointCounter`."""

    def __init__(self, endpoint: CountEndpoint) -> None:
        self._url = f"{endpoint.api_base or BASE}/responses/input_tokens"
        self._headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._model = endpoint.model

    def question(self, body: Mapping[str, Any]) -> Question:
        if any(body.get(name) for name in _DIFFERS):
            raise CountUnavailable("tools and schemas are billed otherwise in the Responses form", param="tools")
        items = [_item(message) for message in body["messages"]]
        return Question(self._url, self._headers, {"model": self._model, "input": items})

    def answer(self, value: Mapping[str, Any]) -> Any:
        return value.get("input_tokens")


def _item(message: Mapping[str, Any]) -> dict[str, Any]:
    role = message["role"]
    if role in ("tool", "function") or message.get("tool_calls") or message.get("function_call"):
        raise CountUnavailable("calls are billed otherwise in the Responses form", param="messages")
    kind = "output_text" if role == "assistant" else "input_text"
    return {"role": role, "content": [_part(part, kind) for part in parts(message)]}


def _part(part: str | Picture, kind: str) -> dict[str, Any]:
    if isinstance(part, Picture):
        return {"type": "input_image", "image_url": part.url, "detail": part.detail or "auto"}
    return {"type": kind, "text": part}


def build(endpoint: CountEndpoint) -> EndpointCounter:
    """OpenAI's, at its own address or another that speaks the same."""
    return InputTokens(endpoint)
