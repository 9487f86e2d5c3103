"""What a counter is, and how a count comes together from measured texts.

Knows: the protocol that each counter module implements, and the sum: a count is a constant plus the tokens of texts.
Does not know: any provider's rules (one module each, beside this one), any tokenizer (the service owns them), caches.

A counter never tokenizes. It names the texts whose tokens it needs, so the engine stays pure, each text is measured
once, and the measurements come from wherever the service finds them: memory, Redis, a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol

from elbowroom.clean.lines import behind
from elbowroom.errors import CountUnavailable
from elbowroom.needs import Answer, NeedCounts
from elbowroom.records import Count, Plan

Asked = ParamSpec("Asked")


class Counter(Protocol):
    """One provider's rules for turning a request body into a bill."""

    vocabulary: str  # whose T(text) the plan means
    additive: bool  # T(a + b) = T(a) + T(b) where a ends in a newline and b starts with neither white space nor "/"

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """The count of a decoded chat body (`messages`, `tools`, ...; no tags), its texts not yet measured.

        Raises `CountUnavailable` for a shape this counter cannot bound.
        """

    def encloses(self, body: Mapping[str, Any], size: int) -> int | None:
        """An upper bound in tokens from the body's `size` in bytes alone; None where bytes prove nothing (images)."""


def within_depth(plan: Callable[Asked, Plan]) -> Callable[Asked, Plan]:
    """For a counter's `plan`, which goes down into a request as deep as that is: too deep is `CountUnavailable`."""

    @wraps(plan)
    def planned(*args: Asked.args, **kwargs: Asked.kwargs) -> Plan:
        try:
            return plan(*args, **kwargs)
        except RecursionError:
            raise CountUnavailable("the request is nested too deeply to be counted") from None

    return planned


class Tally:
    """The texts measured so far in one request, and the questions about the others."""

    def __init__(self, vocabulary: str, line_prefix: str = "") -> None:
        self.vocabulary = vocabulary
        self.line_prefix = line_prefix  # of passages
        self.tokens: dict[str, int] = {"": 0}

    def measure(self, texts: Iterable[str], *, recurring: bool = True) -> Generator[NeedCounts, Answer, None]:
        """Asks for whatever of `texts` is not known yet, in one question, and remembers the answers."""
        missing = tuple(dict.fromkeys(text for text in texts if text not in self.tokens))
        if missing:
            answer = yield NeedCounts(self.vocabulary, missing, recurring)
            self.tokens.update(zip(missing, answer, strict=True))

    def body(self, text: str) -> str:
        """What is counted of a passage's text: its lines as they are sent, and the newline that ends it."""
        return behind(self.line_prefix, text) + "\n"

    def count(self, plan: Plan) -> Count:
        """The plan's count. Every text of it must have been measured."""
        return Count(plan.constant + sum(self.tokens[text] for text in plan.texts), plan.basis, plan.margin)
