"""What came in, and who sent it.

Knows: what a request, a message, a document and a principal consist of.
Does not know: how they are read; HTTP, files, clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from elbowroom.records.words import Mode

Role = Literal["user", "auditor", "admin"]


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


class Cohort(Struct, frozen=True):
    """Where a request stands in a rollout."""

    by: str  # "conversation" or "key": what stands there as a whole
    percent: float  # of the policy's rollout at that moment
    at: float  # 0 to 99.99, by a keyed hash, for good
    inside: bool  # below the percentage


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
    org: str | None = None  # whose budgets its requests are held to; None: nobody's
    team: str | None = None
    role: Role = "user"
    policy: str | None = None  # the name of the policy for its requests; None: the default one
    mode: Mode | None = None  # None: the policy's
    output_cap: int | None = None  # tokens of an answer, where the client names no maximum; None: the policy's
    key: str | None = None  # the name of its key, which has limits of its own; None: it came by a token, or by nothing
