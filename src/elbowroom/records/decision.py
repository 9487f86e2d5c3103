"""What was decided about a request, and why.

Knows: the window's terms, what became of every document, message and tool result, and what leaves for the upstream.
Does not know: how any of it is decided, or what happened afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.needs import Retrieval
from elbowroom.records.model import Count, Learned
from elbowroom.records.words import Drop, Edit, Mode

Spans = tuple[tuple[int, int], ...]  # code points, from and to
MOST_SPANS = 50  # of one text in a trace: who plants a million control strings shall not fill it


class Window(Struct, frozen=True):
    """The equation, every term in tokens; `evidence_budget` = min(evidence_ceiling, input_limit - all the rest)."""

    context_window: int
    input_limit: int
    instructions: int
    tools: int
    examples: int
    conversation: int
    question: int
    framing: int
    answer_reserve: int
    safety_margin: int
    evidence_ceiling: int
    evidence_budget: int


class Redaction(Struct, frozen=True):
    """One value that a placeholder stands for."""

    rule: str
    number: int  # of the value, among those of its rule in the request
    times: int  # in this text
    spans: Spans  # where, in the text without hidden characters; the first of them, where they are many
    where: str = "text"  # or another member of the document: "title", ...; or "messages[1]", a text of its own


class Cleaning(Struct, frozen=True):
    """What was done to another member of a document than its text, where anything was. Spans as in `Fate`."""

    where: str  # "title", "version", "access" (its label) or "summary"
    stripped: int
    neutralised: int
    stripped_spans: Spans
    neutralised_spans: Spans


class Fate(Struct, frozen=True):
    """What became of one document, and why. Holds no text of it."""

    position: int
    id: str
    decision: str  # "admitted" or "dropped"
    label: str | None = None  # S1, S2, ... for the admitted
    reason: Drop | None = None
    detail: str = ""
    tokens: int = 0  # admitted: as sent, tag lines included; dropped: what it would have cost
    tokens_before: int = 0  # its whole text with tag lines, before any excerpt
    spans: tuple[tuple[int, int], ...] = ()  # excerpt: code-point ranges of the cleaned text that were kept
    also_in: tuple[str, ...] = ()  # ids of dropped passages that say the same
    source_id: str | None = None
    version: str | None = None
    score: float | None = None
    stripped: int = 0  # invisible or control characters removed
    neutralised: int = 0  # control strings broken
    stripped_spans: Spans = ()  # where, in the text as it came; the first of them, where they are many
    neutralised_spans: Spans = ()  # where, in the cleaned text
    message: int | None = None  # like the document's
    digest: str = ""  # keyed hash of the text as it came
    digest_sent: str = ""  # and of what was sent of the passage; empty where nothing was
    stale_score: bool = False  # what was scored is not, word for word, what is sent
    form: str = "whole"  # or how it was shortened: "excerpt", "highlights", "parent", "summary"
    disputes: tuple[str, ...] = ()  # ids of passages that are versions of the same text and say something else
    redactions: tuple[Redaction, ...] = ()
    access: str | None = None  # its access label
    cleanings: tuple[Cleaning, ...] = ()


class ToolResult(Struct, frozen=True):
    """What became of one tool message."""

    message: int  # index in the client's messages
    tool: str | None
    bytes_before: int
    bytes_after: int
    rows_before: int | None
    rows_after: int | None
    capped: bool
    cleaned: int = 0  # hidden characters removed and control strings broken
    cleaned_spans: Spans = ()  # of the characters that were removed, in the text as it came
    redacted: int = 0  # values dropped by the policy's paths, or replaced
    redactions: tuple[Redaction, ...] = ()  # those that were replaced
    withheld: str | None = None  # why nothing of it was sent
    neutralised_spans: Spans = ()  # of the control strings that were broken, in the cleaned text, before any cut


class Source(Struct, frozen=True):
    """What the service may say of an admitted passage to the client (citations). Never sent upstream."""

    label: str
    id: str
    title: str | None
    url: str | None
    source_id: str | None
    merged: tuple[str, ...] = ()  # further ids, where several documents stand under the label


class Classified(Struct, frozen=True):
    """The query's class and why."""

    name: str
    by: str  # "client", "cue" or "default"
    cue: str | None = None
    follow_up: bool = False


class Reranking(Struct, frozen=True):
    """What became of the question to a reranker."""

    by: str
    state: str  # "ran", "nothing_relevant" (it ran, and no candidate reached the policy's least score) or "failed"
    candidates: int  # how many it was asked about
    cut: int  # of how many it saw the first sentences only


class Summary(Struct, frozen=True):
    """What stands in for evicted turns. Holds no text of it."""

    messages: int  # how many it stands in for
    tokens_before: int  # of those
    tokens: int  # what it adds to the prompt
    digest: str  # keyed hash of it


class Decision(Struct, frozen=True):
    """All that the engine decided about one request. The trace is this, and what happened afterwards."""

    mode: Mode
    model: str
    policy_id: str
    policy_version: str
    policy_digest: str
    query_class: Classified
    window: Window | None
    counted: Count | None  # None: forwarded first, counted afterwards
    documents: tuple[Fate, ...]
    evidence_tokens: int
    reranked_count: int  # candidates that a reranker scored, the caller's or ours
    tool_results: tuple[ToolResult, ...]
    history_dropped: tuple[int, ...]  # indexes of evicted messages
    examples_dropped: tuple[int, ...]
    edits: tuple[Edit, ...]
    notes: tuple[str, ...]  # what a reviewer should notice: warnings and degradations, in words
    answers: tuple[tuple[Any, ...], ...]  # recorded answers to the Needs, in order: replay
    shape: str = ""  # which requests its bill is compared with
    learned: Learned | None = None  # what their bills had taught until then
    rerank: Reranking | None = None  # None: nobody was asked
    history_summary: Summary | None = None
    evidence_sufficient: bool | None = None  # None: nothing was tagged
    lacks: str = ""  # why it is not sufficient, in words
    retrieval: Retrieval | None = None  # None: no second question was asked
    fallback: str | None = None  # what was done about it, as the class's `on_insufficient` says
    now: float | None = None  # the time that documents were held against, seconds since 1970; None: none had to be
    tools_removed: tuple[str, ...] = ()  # names, as the client gave them
    tools_removed_by: Mapping[str, tuple[str, ...]] = {}  # whose lists lack them: "policy", "class", "key", "label"
    labels: tuple[str, ...] = ()  # of the documents that the principal may see, where it has a key
    label_incomplete: int = 0  # documents denied because their label was missing or could not be read
    redactions: tuple[Redaction, ...] = ()  # in what user and assistant wrote, where the policy wants that searched
    limited: bool = False  # somebody's tokens are limited: the count was waited for, and usage asked for


class Packed(Struct, frozen=True):
    """A request that can be answered: the bytes for the upstream and why they are so."""

    body: bytes
    decision: Decision
    sources: tuple[Source, ...]
    usage_asked: bool  # we asked for usage on the stream; the client did not
    output_limit: int | None = None  # tokens that `body` lets one choice have; None: it says nothing of it
    reply: str | None = None  # the whole answer, where no model is to be asked; `body` is empty then
    tools: frozenset[str] | None = None  # the only names that the answer may call; None: nobody looks


class Refused(Struct, frozen=True):
    """A request that cannot: the error, and what had been decided until then."""

    code: str
    message: str
    param: str | None
    status_hint: int
    decision: Decision | None
