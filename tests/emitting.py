"""An upstream that emits all it may, and keeps its own account of what it served.

Knows: that without a cap it emits its model's maximum, how each request wants to be treated (its `user` says so), and
what that comes to in the worst case: what nobody heard the end of was generated to the end.
Does not know: the proxy, limits, or which worker a request came through.

A request's `user` is `<kind>/<tokens>.<number>/<payer>`: so many tokens come before the kind's accident.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.upstream import (
    DONE,
    Answer,
    Break,
    FakeUpstream,
    Gate,
    Seen,
    answer_json,
    answer_stream,
    chunk,
)

MAXIMUM = 40  # tokens of an answer where no cap came
INTO, OUT = 200, 800  # micro-USD a token
AROUND = 7  # tokens of a prompt beside its words
UNTOLD = 8  # tokens that are charged above what came where no usage is told: role and end, of each choice
WORD = " hello"  # one token, however often it stands there
REFUSALS = {"refused": 400, "limited": 429, "busy": 503}


def prompt(words: int) -> str:
    """A text of so many tokens."""
    return "hello" + WORD * (words - 1)


class Emitting(FakeUpstream):
    """Answers by each request's `user`; `gate` holds back every answer of the kind `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.served: Counter[str] = Counter()  # tokens, by payer; `<payer>:usd` in micro-USD
        self.untold: Counter[str] = Counter()  # tokens that may be charged above that, by payer
        self.seen: set[str] = set()  # every `user`
        self.standing: dict[str, Gate] = {}  # by `user`: those that are never let through
        self.held = self.gate()
        self._account = threading.Lock()

    def next_answer(self, seen: Seen) -> Answer:
        super().next_answer(seen)
        body = seen.json
        kind, number, payer = body["user"].split("/")
        into = AROUND + len(body["messages"][0]["content"].split())
        cap = body.get("max_tokens") or body.get("max_completion_tokens") or MAXIMUM
        most = min(cap, MAXIMUM) * (body.get("n") or 1)
        came = min(int(number.partition(".")[0]), most)
        answer, out = self._answer(kind, body, into, most, came)
        with self._account:
            self.seen.add(body["user"])
            if kind in {"quiet", "cut", "stuck"}:
                self.untold[payer] += UNTOLD
            if out is not None:
                self.served[payer] += into + out
                self.served[f"{payer}:usd"] += into * INTO + out * OUT
        return answer

    def stands(self, user: str) -> bool:
        """Whether that request waits here for its client to go away."""
        gate = self.standing.get(user)
        return gate is not None and gate.reached.is_set()

    def _answer(self, kind: str, body: dict[str, Any], into: int, most: int, came: int) -> tuple[Answer, int | None]:
        """And the tokens that were generated for it; None: it was never begun."""
        if kind in REFUSALS:
            return answer_json({"error": {"message": kind}}, REFUSALS[kind], retry_after="1"), None
        if kind == "failed":
            return answer_json({"error": {"message": kind}}, 500), 0
        if kind == "silent":
            return Answer(before=self._never(body["user"])), most
        if kind == "dropped":
            return Answer(before=Break()), most
        if kind == "garbled":
            return Answer(200, {"content-type": "application/json"}, [b"{"]), most
        if kind in {"cut", "stuck"}:
            end = Break() if kind == "cut" else self._never(body["user"])
            return answer_stream(*_pieces(came), end), came
        usage = {"prompt_tokens": into, "completion_tokens": most, "total_tokens": into + most}
        told: dict[str, Any] = {} if kind == "quiet" else {"usage": usage}
        if body.get("stream"):
            asked = (body.get("stream_options") or {}).get("include_usage")
            last = [chunk(choices=[], **told)] if told and asked else []
            answer = answer_stream(*_pieces(most), chunk(finish="stop"), *last, DONE)
        else:
            answer = answer_json(_whole(body, most, told))
        if kind == "held":
            answer.before = self.held
        return answer, most

    def _never(self, user: str) -> Gate:
        gate = self.standing[user] = self.gate()
        return gate


def _pieces(tokens: int) -> Iterator[bytes]:
    """Chunks with so many tokens together."""
    yield chunk({"role": "assistant", "content": ""})
    for at in range(0, tokens, 16):
        yield chunk({"content": WORD * min(16, tokens - at)})


def _whole(body: dict[str, Any], most: int, told: dict[str, Any]) -> dict[str, Any]:
    choices = body.get("n") or 1
    message = {"role": "assistant", "content": WORD * (most // choices)}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "upstream-model", **told,
        "choices": [{"index": at, "message": message, "finish_reason": "stop"} for at in range(choices)],
    }  # fmt: skip


def model(url: str, name: str = "m") -> dict[str, Any]:
    """The entry of elbowroom.yaml for a model that such an upstream serves."""
    return {
        "model_name": name,
        "litellm_params": {"model": "openai/gpt-4o", "api_base": url, "api_key": "upstream-key"},
        "model_info": {
            "context_window": 16_000, "max_output_tokens": MAXIMUM,
            "input_cost_per_token": INTO / 1e6, "output_cost_per_token": OUT / 1e6,
        },
    }  # fmt: skip


def request(user: str, words: int = 1, **more: Any) -> bytes:
    """A chat request whose prompt has so many words."""
    messages = [{"role": "user", "content": prompt(words)}]
    return json.dumps({"model": "m", "messages": messages, "user": user, **more}).encode()
