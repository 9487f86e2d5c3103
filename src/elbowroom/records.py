"""Every record of the story, frozen, and the words it is told in.

Knows: what a request, a document, a count, a decision and a packed prompt consist of.
Does not know: how any of them comes about; JSON, HTTP, files, clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from elbowroom.needs import Retrieval
from elbowroom.price import Price


class Mode(StrEnum):
    PASSTHROUGH = "passthrough"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Basis(StrEnum):
    """How a count is known."""

    EXACT = "exact"
    MODELLED = "modelled"
    BOUNDED = "bounded"
    CALIBRATED = "calibrated"


class Drop(StrEnum):
    """Why a passage was left out. One reason a passage; the detail is text."""

    NOT_PERMITTED = "not_permitted"
    WRONG_LANGUAGE = "wrong_language"
    STALE = "stale"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    EMPTY = "empty"
    REPEATED_ID = "repeated_id"
    REDACTION_FAILED = "redaction_failed"
    BELOW_FLOOR = "below_floor"
    DUPLICATE = "duplicate"
    SOURCE_CAP = "source_cap"
    OVER_COUNT = "over_count"
    LOW_NOVELTY = "low_novelty"
    OVER_BUDGET = "over_budget"


class Edit(StrEnum):
    """The whole list of differences there may be between the client's body and the upstream's."""

    TAGS_REMOVED = "tags_removed"
    MODEL_MAPPED = "model_mapped"
    USAGE_ASKED = "usage_asked"
    EVIDENCE_ADDED = "evidence_added"
    TOOL_RESULT_CAPPED = "tool_result_capped"
    TOOL_RESULT_CLEANED = "tool_result_cleaned"
    TOOL_RESULT_PACKED = "tool_result_packed"
    TOOL_RESULT_WITHHELD = "tool_result_withheld"
    TOOLS_REMOVED = "tools_removed"
    ANNOTATIONS_STRIPPED = "annotations_stripped"
    REDACTED = "redacted"
    DEVELOPER_FOLDED = "developer_folded"
    HISTORY_EVICTED = "history_evicted"
    HISTORY_SUMMARISED = "history_summarised"
    EXAMPLES_EVICTED = "examples_evicted"
    OUTPUT_CLAMPED = "output_clamped"
    OUTPUT_CAPPED = "output_capped"


# --- what came in -----------------------------------------------------------------------------------------------------


class Document(Struct, frozen=True):
    """One tagged document, its aliases resolved, its text as the client sent it (untrusted)."""

    position: int  # index in the client's list
    id: str
    text: str | None  # None or blank is legal and will be dropped as `empty`
    title: str | None = None
    section: str | None = None
    source_id: str | None = None
    chunk_index: int | None = None
    url: str | None = None
    version: str | None = None
    fetched_at: str | None = None
    supersedes: tuple[str, ...] = ()
    score: float | None = None
    rerank_score: float | None = None
    novelty: float | None = None
    lang: str | None = None
    kind: str | None = None
    summary: str | None = None
    highlights: tuple[str, ...] = ()
    parent_id: str | None = None
    anchor: str | None = None
    access: Mapping[str, Any] | None = None
    message: int | None = None  # index of the message that it came in, and goes back to; None: it was tagged

    @property
    def source(self) -> str:
        """What the source cap counts by: the source, else the URL, else the document itself."""
        return self.source_id or self.url or self.id


class Context(Struct, frozen=True):
    """What the client says about its request beside the messages; by body, else by header."""

    query_class: str | None = None
    conversation_id: str | None = None
    examples: tuple[int, ...] = ()  # indexes of messages that are few-shot examples
    explain: bool = False


class Message(Struct, frozen=True):
    """One chat message: the bytes as they came, and what they say."""

    raw: bytes  # its JSON, byte for byte; what is not edited is forwarded from here
    value: dict[str, Any]  # the same, decoded; never mutated

    @property
    def role(self) -> str:
        return str(self.value["role"])

    @property
    def text(self) -> str:
        """All text of the message: a string content, or its text parts joined by newlines; `""` where there is none."""
        content = self.value.get("content")
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return ""
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))


class Request(Struct, frozen=True):
    """A chat request as read: the whole body, and its parts that anybody needs."""

    body: bytes  # as it came
    fields: dict[str, bytes]  # every top-level member in order, value as raw JSON, tags included
    model: str
    messages: tuple[Message, ...]
    documents: tuple[Document, ...]
    tagged: bool  # `documents` was present, even if empty
    context: Context
    params: dict[str, Any]  # top-level members other than messages, documents, context; decoded; never mutated
    stream: bool = False


class Split(Struct, frozen=True):
    """Indexes into `Request.messages`: every message is in exactly one part."""

    instructions: tuple[int, ...]  # system and developer
    examples: tuple[int, ...]
    turns: tuple[tuple[int, ...], ...]  # earlier turns, oldest first; each begins at a user message where it can
    question: int | None  # the last user message
    tail: tuple[tuple[int, ...], ...]  # what follows the question: tool groups, each whole


class Principal(Struct, frozen=True):
    """Who asks. Only ever from a key record or a verified token, never from the body."""

    subject: str = "open"
    tenant: str | None = None
    groups: tuple[str, ...] = ()
    clearance: str | None = None
    classes: tuple[str, ...] | None = None  # None: every class
    models: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None  # that its requests may offer; None: any
    keyed: bool = False  # it came by a key or a token; False: there are none, and everybody may see everything
    on_missing_label: Mapping[str, str] = {}  # by kind of document, or `default`: `deny` or `assume:<label>`


class ChatTemplate(Struct, frozen=True):
    """How a self-hosted model's prompt is written: its own template, as text, and what the template is given."""

    source: str  # jinja
    tokens: Mapping[str, str] = {}  # `bos_token`, `eos_token`, ...
    variables: Mapping[str, Any] = {}  # the server's default template arguments, e.g. `enable_thinking`
    today: str | None = None  # YYYY-MM-DD, for templates that print the date


class Model(Struct, frozen=True):
    """One row of the catalog: what a model name stands for."""

    name: str  # as clients say it
    upstream: str  # file name in `upstreams/`
    upstream_model: str  # as the upstream says it
    context_window: int  # tokens, shared by prompt and answer
    max_output_tokens: int  # tokens
    counter: str  # file name in `count/`
    family: str  # the framing rules inside that counter, e.g. `gpt-4o`, `gpt-5`, `o-series`
    vocabulary: str  # whose tokens are meant, e.g. `o200k_base`
    known: bool = True  # False: nobody mapped it; counted by the maximum over families, `bounded`
    template: ChatTemplate | None = None  # where the operator gave one
    max_input_tokens: int | None = None  # of the prompt alone, where the provider limits it apart from the window
    price: Price | None = None  # None: nobody said
    accepts: tuple[str, ...] | None = None  # labels of documents that may go there; None: that leave the house


class Count(Struct, frozen=True):
    """Tokens, how they are known, and by how much the bill may differ (tokens, either way)."""

    tokens: int
    basis: Basis
    margin: int = 0


class Learned(Struct, frozen=True):
    """What the last bills of one shape of request have taught, in tokens."""

    largest: int  # the largest difference between bill and count, either way
    bills: int  # how many that is the largest of
    refused: int = 0  # by how much, at least, a count was too low that the upstream refused as too long


class Plan(Struct, frozen=True):
    """A count whose texts are not measured yet: tokens = constant + sum(T(text) for text in texts)."""

    constant: int
    texts: tuple[str, ...]
    basis: Basis
    margin: int = 0


Spans = tuple[tuple[int, int], ...]  # code points, from and to
MOST_SPANS = 50  # of one text in a trace: who plants a million control strings shall not fill it


# --- what was decided -------------------------------------------------------------------------------------------------


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
    where: str = "text"  # or another member of the document: "title", ...


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
    stale_score: bool = False  # what was scored is not, word for word, what is sent
    form: str = "whole"  # or how it was shortened: "excerpt", "highlights", "parent", "summary"
    disputes: tuple[str, ...] = ()  # ids of passages that are versions of the same text and say something else
    redactions: tuple[Redaction, ...] = ()
    access: str | None = None  # its access label


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
    labels: tuple[str, ...] = ()  # of the documents that the principal may see, where it has a key
    label_incomplete: int = 0  # documents denied because their label was missing or could not be read


class Packed(Struct, frozen=True):
    """A request that can be answered: the bytes for the upstream and why they are so."""

    body: bytes
    decision: Decision
    sources: tuple[Source, ...]
    usage_asked: bool  # we asked for usage on the stream; the client did not
    reply: str | None = None  # the whole answer, where no model is to be asked; `body` is empty then
    tools: frozenset[str] | None = None  # the only names that the answer may call; None: nobody looks


class Refused(Struct, frozen=True):
    """A request that cannot: the error, and what had been decided until then."""

    code: str
    message: str
    param: str | None
    status_hint: int
    decision: Decision | None
