"""The record of one request: what the engine decided and what the service saw happen, as one versioned value.

Knows: the record's shape and version, the names a reviewer searches by, and what a client may be shown of it.
Does not know: where records are kept, or any text of a document, message or answer: none is in here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.account.requested import Instruction, ResultSince, Tools
from elbowroom.budget.hold import Amounts
from elbowroom.records import Cohort, Count, Decision, Drop, Principal

VERSION = 2
_NOT_CUT = ("whole", "compressed")
DEGRADED = {  # what a note says, in a word
    "count_cache_degraded": "counts_recomputed",
    "not_counted": "not_counted",
    "degraded: earlier turns were dropped without a summary": "summary_missing",
    "degraded: the reranker gave no order, the caller's was taken": "rerank_missing",
    "the provider's counting endpoint could not be reached": "count_endpoint_failed",
}


class Billed(Struct, frozen=True):
    """The upstream's usage, in tokens, as the provider names it."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0


class Held(Struct, frozen=True):
    """What a ledger was asked to hold before the request was sent, and what it said."""

    state: str  # "granted", "denied", or "open": nobody could say, and the configuration goes on without
    prompt: int  # tokens, and how they are known
    by: str  # "counted", "bytes" or "window"
    answer: int  # tokens, all choices together
    amounts: Amounts
    refused: tuple[str, ...] = ()  # the limits that refused, e.g. "team acme/support: max_tokens"


class Settlement(Struct, frozen=True):
    """What it came to in the end."""

    # usage: as billed. delivered: the prompt as held, and the tokens of what came. bound: all that was held, since
    # nobody could say. nothing: no model was asked, or it refused before it began.
    by: str
    # settled; released: given back; late: its hold had been swept, and that charge is replaced; unknown: there was no
    # hold, and it is charged now; again, too_old; pending: the ledger could not be reached yet.
    state: str
    amounts: Amounts = Amounts()
    overrun: Amounts = Amounts()  # by how much it came to more than was held


class Cited(Struct, frozen=True):
    """Labels in the answer: admitted ones (`verified`) and ones that no passage carries (`invented`), each once."""

    verified: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    uncited: tuple[str, ...] = ()  # admitted, and not cited


class LinksFlagged(Struct, frozen=True):
    """Links in the answer to hosts that nobody trusted named; their number only, since the hosts are the answer's."""

    images: int = 0
    links: int = 0


class Aside(Struct, frozen=True):
    """A call beside the answer's own: to a reranker, to a retriever, or to a model for fewer words."""

    purpose: str  # rerank, retrieve, summary or compress
    by: str  # the reranker's name, or the model's
    ms: float = 0.0
    micro_usd: int | None = None  # None: nobody said what it costs
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False
    failed: str = ""  # why there was no answer


class Captured(Struct, frozen=True):
    """Which texts of the request were kept beside its record."""

    kept: str  # "redacted" or "full"
    until: str  # the last day, as in 2026-12-31


class Relay(Struct, frozen=True):
    """A request that was no chat: handed on as it came, and nothing of it decided."""

    route: str  # "embeddings" or "responses"
    model: str
    edits: tuple[str, ...] = ()


class Facts(Struct, frozen=True, kw_only=True):
    """What the service knows and the engine does not. Times in ms, measured by the service."""

    trace_id: str
    time: str  # RFC 3339, UTC
    request_id: str | None = None
    client_request_id: str | None = None
    conversation_id: str | None = None
    subject: str | None = None
    tenant: str | None = None
    principal: Principal | None = None  # the same with its rights, so that the decision can be taken again
    upstream: str | None = None
    upstream_model: str | None = None
    stream: bool = False
    status: int | None = None
    error: dict[str, str | None] | None = None
    finish_reason: str | None = None
    counted: Count | None = None  # of a request that was forwarded first
    billed: Billed | None = None
    cited: Cited | None = None
    calls_refused: int = 0  # calls in the answer that were not handed on
    calls_tainted: int = 0  # calls in the answer that say what only documents and results said
    links_flagged: LinksFlagged = LinksFlagged()
    timings_ms: dict[str, float] = {}
    asides: tuple[Aside, ...] = ()
    disconnected: bool = False
    relayed: Relay | None = None  # None: a chat
    hold: Held | None = None  # None: nothing of whoever asks is limited
    settlement: Settlement | None = None  # None: nothing was held
    counter: str | None = None  # by what tokens were counted: file name in `count/`, family and vocabulary
    instructions: tuple[Instruction, ...] = ()
    tools: Tools = Tools()
    results_since: tuple[ResultSince, ...] = ()  # tool results behind the last question
    hash_key_id: str | None = None  # of the key that every hash in here is made with
    captured: Captured | None = None  # None: no text of it was kept
    notes: tuple[str, ...] = ()  # degradations that only the service can see
    killed: bool = False  # the kill switch was on: `mode` is what was carried out
    cohort: Cohort | None = None  # None: its mode did not depend on a rollout
    shadow: str | None = None  # "queued": a record of kind `shadow` follows; "skipped": too many were waiting


def record(outcome: Decision | None, facts: Facts) -> dict[str, Any]:
    """The trace record: JSON-ready values only. `outcome` is None where the body could not even be read."""
    story = {"version": VERSION, **msgspec.to_builtins(facts), **_decided(outcome)}
    if facts.relayed is not None:
        story["model"] = facts.relayed.model
    counted = outcome.counted if outcome is not None and outcome.counted is not None else facts.counted
    story["counted"] = msgspec.to_builtins(counted)
    story["count_error"] = (
        None if counted is None or facts.billed is None else facts.billed.prompt_tokens - counted.tokens
    )
    story["notes"] = [*(outcome.notes if outcome is not None else ()), *facts.notes]
    story["degradations"] = list(_degradations(outcome, facts))
    return story


def _decided(decision: Decision | None) -> dict[str, Any]:
    if decision is None:
        return {"mode": None, "model": None, "query_class": None, "window": None, "documents": [], "dropped": {}}
    accepted = [fate for fate in decision.documents if fate.decision == "admitted"]
    dropped = Counter(fate.reason.value for fate in decision.documents if fate.reason is not None)
    window = decision.window
    return {
        "mode": decision.mode.value,
        "model": decision.model,
        "policy": {"id": decision.policy_id, "version": decision.policy_version, "digest": decision.policy_digest},
        "query_class": decision.query_class.name,
        "classified": msgspec.to_builtins(decision.query_class),
        "window": msgspec.to_builtins(window),
        "evidence_budget": window.evidence_budget if window is not None else None,
        "answer_reserve": window.answer_reserve if window is not None else None,
        "candidate_count": len(decision.documents),
        "reranked_count": decision.reranked_count,
        "accepted_chunk_ids": [fate.id for fate in sorted(accepted, key=_shown)],
        "evidence_tokens": decision.evidence_tokens,
        "dropped": dict(dropped),
        "documents": msgspec.to_builtins(decision.documents),
        "tool_results": msgspec.to_builtins(decision.tool_results),
        "history_dropped": list(decision.history_dropped),
        "examples_dropped": list(decision.examples_dropped),
        "shape": decision.shape,
        "now": decision.now,
        "learned": msgspec.to_builtins(decision.learned),
        "tools_removed": list(decision.tools_removed),
        "labels": list(decision.labels),
        "label_incomplete": decision.label_incomplete,
        "redactions": msgspec.to_builtins(decision.redactions),
        "limited": decision.limited,
        "edits": [edit.value for edit in decision.edits],
        "reranking": msgspec.to_builtins(decision.rerank),
        "history_summary": msgspec.to_builtins(decision.history_summary),
        "evidence_sufficient": decision.evidence_sufficient,
        "lacks": decision.lacks,
        "retrieval": msgspec.to_builtins(decision.retrieval),
        "fallback": decision.fallback,
        "too_much": _too_much(decision),
        # What a model or a retriever said is no number: it stays out, as all texts do.
        "answers": [[None if isinstance(one, str) else one for one in answer] for answer in decision.answers],
    }


def _degradations(decision: Decision | None, facts: Facts) -> Iterator[str]:
    """What did not work as it should while the request was served all the same, in words that can be counted."""
    if facts.asides:
        yield from dict.fromkeys(f"{one.purpose}_failed" for one in facts.asides if one.failed)
    if facts.hold is not None and facts.hold.state == "open":
        yield "ledger_open"
    if notes := {*facts.notes, *(decision.notes if decision is not None else ())}:
        yield from (word for note, word in DEGRADED.items() if note in notes)
    if decision is not None and any(fate.reason is Drop.REDACTION_FAILED for fate in decision.documents):
        yield "redaction_failed"


def _too_much(decision: Decision) -> list[dict[str, Any]]:
    """What yielded because there was not room for all, in the order in which it yields; only what did."""
    fates = decision.documents
    summary = decision.history_summary
    steps = {
        "passages_dropped": sum(fate.reason in (Drop.OVER_BUDGET, Drop.OVER_COUNT) for fate in fates),
        "passages_shortened": sum(fate.decision == "admitted" and fate.form not in _NOT_CUT for fate in fates),
        "messages_summarised": summary.messages if summary is not None else 0,
        "messages_dropped": len(decision.history_dropped) if summary is None else 0,
        "examples_dropped": len(decision.examples_dropped),
        "passages_compressed": sum(fate.decision == "admitted" and fate.form == "compressed" for fate in fates),
    }
    return [{"step": step, "n": n} for step, n in steps.items() if n]


def _shown(fate: Any) -> int:
    return int(fate.label[1:])


def report(story: dict[str, Any]) -> dict[str, Any]:
    """What the client may see of its own record: nothing of passages that were denied, no recorded answers."""
    documents = [one for one in story["documents"] if one["reason"] != Drop.NOT_PERMITTED]
    dropped = {reason: n for reason, n in story["dropped"].items() if reason != Drop.NOT_PERMITTED}
    hidden = ("answers", "subject", "tenant", "principal", "retrieval", "hash_key_id", "captured", "instructions")
    shown = {name: value for name, value in story.items() if name not in hidden}
    return {**shown, "documents": documents, "dropped": dropped}
