"""The provider's own count of a whole request: when it is asked for, and what follows where it cannot be had.

Knows: the policy's wishes, and which members of a body an endpoint is shown.
Does not know: any provider's protocol, addresses, or caches; the service answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from elbowroom.errors import CountUnavailable
from elbowroom.needs import NeedEndpointCount, Steps
from elbowroom.read.policy import Counting
from elbowroom.records import Basis, Count, Model

ROUNDS = 3  # at most so many questions about one request
# The rest of a body is no part of the prompt, and would only make equal prompts look different.
_COUNTED = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format",
    "chat_template_kwargs",
)  # fmt: skip


class Endpoint:
    """One request's questions to the endpoint of its model."""

    def __init__(self, model: Model, there: bool, counting: Counting) -> None:
        """`there`: the service has an endpoint for this model."""
        self._model = model
        self._counting = counting
        self.there = there and counting.endpoint != "never"
        self.asked = 0
        self.missed = False  # a question was not answered

    def wanted(self, count: Count, room: int, *, final: bool) -> bool:
        """Whether to ask about what `count` counted: it comes too near to `room` tokens, or (finally) always."""
        if not self.there or self.missed or self.asked >= ROUNDS:
            return False
        if final and self._counting.endpoint == "always":
            return True
        doubtful = count.margin > 0 or count.basis is Basis.BOUNDED
        return doubtful and count.tokens + count.margin > room

    def confirmed(self, count: Count, room: int, body: Mapping[str, Any], *, final: bool) -> Steps[Count]:
        """`count` itself, or in its place the endpoint's count of `body`, where that is wanted and to be had."""
        exact = None
        if self.wanted(count, room, final=final):
            exact = yield from self.ask(body)
        return count if exact is None else Count(exact, Basis.EXACT)

    def ask(self, body: Mapping[str, Any]) -> Steps[int | None]:
        """Tokens; None where there is no endpoint, or it cannot be reached and the policy goes on without.

        Raises `CountUnavailable` where it cannot be reached and the policy refuses.
        """
        if not self.there:
            return None
        self.asked += 1
        answer = yield NeedEndpointCount(self._model.name, canonical(body))
        if answer:
            tokens: int = answer[0]
            return tokens
        self.missed = True
        if self._counting.on_unavailable == "refuse":
            raise CountUnavailable("The provider's counting endpoint cannot be reached.", param="model")
        return None


def canonical(body: Mapping[str, Any]) -> bytes:
    """What is counted of a body, as JSON that is the same for the same prompt."""
    counted = {name: body[name] for name in _COUNTED if body.get(name) is not None}
    text = json.dumps(counted, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
