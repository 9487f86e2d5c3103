"""The policy: every number and switch that decides, as one frozen value.

Knows: the shape of `policy.yaml` and `classes/*.yaml`, the defaults, and which ranges are impossible.
Does not know: where the files lie, when they change (the service polls and swaps), or which model will be asked.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from elbowroom.read.sources import Registry
from elbowroom.records import Mode

Tokens = Annotated[int, Meta(ge=0)]
PositiveTokens = Annotated[int, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything an operator writes: unknown keys are errors."""


class Answer(Config, frozen=True):
    """The room kept for the answer when the client names no maximum."""

    min_output_tokens: PositiveTokens = 256  # a client's maximum is never clamped below this
    reasoning: dict[str, Tokens] = field(
        default_factory=lambda: {"none": 0, "minimal": 0, "low": 1000, "medium": 4000, "high": 8000, "xhigh": 16000}
    )
    schema_string_tokens: PositiveTokens = 64  # an unbounded string in a JSON schema
    schema_array_items: PositiveTokens = 8  # an unbounded array in a JSON schema
    schema_error_tokens: Tokens = 128  # beside a schema's largest instance: the model may refuse in words instead
    output_cap: PositiveTokens | None = None  # sent upstream when the client names no maximum


class History(Config, frozen=True):
    share: Share = 0.25  # of (window - reserve - fixed)
    max_tokens: Tokens = 8000


class ToolResults(Config, frozen=True):
    max_tokens: PositiveTokens = 4000  # each
    max_total_tokens: PositiveTokens = 8000  # together
    max_rows: PositiveTokens = 200


class Evidence(Config, frozen=True):
    ceiling: Tokens = 6000
    max_passages: PositiveTokens = 10
    per_source: PositiveTokens = 2
    max_passage_tokens: PositiveTokens = 1500
    min_excerpt_tokens: PositiveTokens = 48
    rerank_keep: PositiveTokens = 8  # `topk` stops here
    floor: Share = 0.0  # relevance below this is dropped; 0 is off
    min_novelty: Share = 0.20  # `weighted` only


class EvidenceOverride(Config, frozen=True):
    """A class's own evidence numbers; what is `null` is the policy's."""

    ceiling: Tokens | None = None
    max_passages: PositiveTokens | None = None
    per_source: PositiveTokens | None = None
    max_passage_tokens: PositiveTokens | None = None
    min_excerpt_tokens: PositiveTokens | None = None
    rerank_keep: PositiveTokens | None = None
    floor: Share | None = None
    min_novelty: Share | None = None


class QueryClass(Config, frozen=True):
    """One kind of question: how it is recognised, and what its answer and evidence need."""

    name: str
    priority: int = 100  # classes are tried in this order, lowest first
    answer_reserve: PositiveTokens = 700  # tokens
    languages: tuple[str, ...] = ()  # documents said to be in another are dropped; empty: none is
    merge_adjacent: bool = True  # neighbouring chunks of one source go in as one passage
    cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # language -> regular expressions, any one suffices
    not_cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # these speak against it, whatever else matches
    evidence: EvidenceOverride = EvidenceOverride()
    recency: bool = False  # newer evidence weighs more


class Counting(Config, frozen=True):
    """When a model's own counting endpoint is asked, where the model list names one; it costs a round trip."""

    # `near_limit`: where count, margin and the answer's reserve come near the limit, and for what no rule counts.
    endpoint: Literal["never", "near_limit", "always"] = "near_limit"
    # `bounded` goes on with the upper end of the count; what no rule counts is refused either way.
    on_unavailable: Literal["refuse", "bounded"] = "bounded"


class FollowUp(Config, frozen=True):
    """When a question leans on what was said before: there is history, and a cue matches or it is very short."""

    max_words: Annotated[int, Meta(ge=0)] = 4  # this many or fewer are very short ...
    max_characters: Annotated[int, Meta(ge=0)] = 4  # ... and this many CJK characters or fewer
    cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # language -> regular expressions
    not_cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # these speak against it, whatever else matches


class Policy(Config, frozen=True):
    """One policy, whole. A request takes one at its start and never reads another."""

    id: str = "default"
    version: str = "1"
    mode: Mode = Mode.ENFORCE
    input_limit: PositiveTokens = 32_000  # the smallest context the operator wants to support
    safety_margin: Tokens = 64  # beside the count's own margin
    warn_instructions_tokens: PositiveTokens = 2000
    max_documents: PositiveTokens = 1000
    counting: Counting = Counting()
    answer: Answer = Answer()
    history: History = History()
    tool_results: ToolResults = ToolResults()
    tools: dict[str, ToolResults] = field(default_factory=dict)  # caps by tool name
    evidence: Evidence = Evidence()
    gates: tuple[str, ...] = (
        "wrong_language", "stale", "expired", "superseded", "empty", "repeated_id", "below_floor", "duplicate",
        "source_cap", "over_count", "low_novelty", "over_budget",
    )  # fmt: skip
    packer: str = "cover"
    order: Literal["best_first", "edges", "document"] = "best_first"
    format: Literal["xml", "markdown", "numbered"] = "xml"
    documents: Literal["ours", "upstream"] = "ours"  # `upstream`: leave the `documents` field to the provider
    invented_citations: Literal["flag"] = "flag"
    default_class: str = "general"
    follow_up: FollowUp = FollowUp()
    classes: tuple[QueryClass, ...] = (QueryClass("general"),)
    digest: str = ""  # of the bytes this was read from

    def query_class(self, name: str) -> QueryClass:
        """The class of that name; one that nobody wrote down has the default numbers and no cues."""
        return next((one for one in self.classes if one.name == name), QueryClass(name))

    def has_class(self, name: str) -> bool:
        """Whether there is a class of that name."""
        return any(one.name == name for one in self.classes)
    sources: Registry = Registry()  # what is registered of the places that documents come from
