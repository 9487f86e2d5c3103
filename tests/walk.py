"""The engine driven by tests: real vocabularies, no loop, no store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from elbowroom import count
from elbowroom.clean.known import Known
from elbowroom.count.counter import Counter, Tally
from elbowroom.decision import Setting, decide
from elbowroom.needs import NeedCounts, Steps
from elbowroom.read.policy import Policy
from elbowroom.read.request import read_request
from elbowroom.records import Count, Decision, Model, Packed, Principal, Refused, Request
from elbowroom_proxy.answering import drive_here, offline
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies

MODEL = Model("m", "demo", "m", 8_192, 4_096, "openai_chat", "gpt-4o", "o200k_base")
TOKENS = Tokens(Vocabularies(), secret=b"tests")

Result = TypeVar("Result")


def run(steps: Steps[Result]) -> Result:
    """The end of a piece of the walk, its questions answered by the real tokenizer."""
    return drive_here(steps, offline(TOKENS.count_now))


def tokens(text: str, vocabulary: str = "o200k_base") -> int:
    """T(text)."""
    return TOKENS.count_now(NeedCounts(vocabulary, (text,)))[0]


def chat(*messages: tuple[str, str | list[dict[str, Any]]], documents: Any = None, **more: Any) -> Request:
    """A request of (role, text or parts) messages, read as the service reads it."""
    body: dict[str, Any] = {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages]}
    return read({**body, **({} if documents is None else {"documents": documents}), **more})


def read(body: dict[str, Any]) -> Request:
    """The request with this body."""
    return read_request(json.dumps(body, ensure_ascii=False).encode(), {}, max_documents=1_000)


def setting(policy: Policy | None = None, model: Model = MODEL, counter: Counter | None = None) -> Setting:
    """Everything that holds for a request in a test."""
    return Setting(
        principal=Principal(),
        policy=policy or Policy(),
        model=model,
        counter=counter or count.build(model),
        nonce_key=b"n" * 32,
        hash_key=b"h" * 32,
        known=Known(1 << 20),
    )


def pack(
    request: Request, policy: Policy | None = None, model: Model = MODEL, counter: Counter | None = None
) -> Packed:
    """The request packed; a refusal fails the test."""
    outcome = run(decide(request, setting(policy, model, counter)))
    assert isinstance(outcome, Packed), outcome
    return outcome


def refuse(request: Request, policy: Policy | None = None, model: Model = MODEL) -> Refused:
    """The request refused; an answer fails the test."""
    outcome = run(decide(request, setting(policy, model)))
    assert isinstance(outcome, Refused), outcome
    return outcome


def bill(body: bytes, model: Model = MODEL) -> Count:
    """What an upstream that counts by the same rules bills for this body."""
    counter = count.build(model)
    plan, tally = counter.plan(json.loads(body)), Tally(counter.vocabulary)
    run(tally.measure(plan.texts))
    return tally.count(plan)


def counted(packed: Packed) -> int:
    """Tokens of the packed prompt; one that was not counted fails the test."""
    assert packed.decision.counted is not None
    return packed.decision.counted.tokens


def reasons(decision: Decision) -> dict[str, str]:
    """id -> "admitted", or why it was dropped."""
    return {fate.id: fate.reason or fate.decision for fate in decision.documents}


def texts(body: bytes) -> Sequence[str]:
    """The string contents of a body's messages."""
    return [message["content"] for message in json.loads(body)["messages"]]
