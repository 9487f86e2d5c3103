"""vLLM's `POST /tokenize`, which renders the model's own template: one number for what its server will read.

Knows: that it takes chat messages and tools as they are, and lies beside `/v1`, not below it.
Does not know: HTTP, templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.addresses import CountEndpoint
from elbowroom_proxy.ports import EndpointCounter, Question

_PASSED = ("messages", "tools", "chat_template_kwargs")


class Tokenize:
    """Implements `EndpointCounter`."""

    def __init__(self, endpoint: CountEndpoint) -> None:
        self._url = f"{(endpoint.api_base or '').removesuffix('/v1')}/tokenize"
        self._headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        self._model = endpoint.model

    def question(self, body: Mapping[str, Any]) -> Question:
        if body.get("functions"):
            raise CountUnavailable("functions of the older form cannot be told to this endpoint", param="functions")
        passed = {name: body[name] for name in _PASSED if body.get(name)}
        return Question(self._url, self._headers, {"model": self._model, "add_generation_prompt": True, **passed})

    def answer(self, value: Mapping[str, Any]) -> Any:
        return value.get("count")


def build(endpoint: CountEndpoint) -> EndpointCounter:
    """The server at that address."""
    return Tokenize(endpoint)
