"""The policy: every number and switch that decides, as one frozen value.

Knows: the shape of `policy.yaml` and `classes/*.yaml`, the defaults, and which ranges are impossible.
Does not know: where the files lie, when they change (the service polls and swaps), or which model will be asked.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from elbowroom.read.sources import Registry
from elbowroom.records import Mode

Tokens = Annotated[int, Meta(ge=0)]
PositiveTokens = Annotated[int, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(gt=0, le=600)]


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything an operator writes: unknown keys are errors."""


class Files(Struct, frozen=True):
    """What a policy was read from: each file's name, without its folders, and its text."""

    policy: tuple[str, str]
    classes: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, str] | None = None


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


class Summaries(Config, frozen=True):
    """Who sums up the turns that are evicted, and what that may cost. Without a model they go without a word."""

    model: str | None = None  # a name of the model list
    max_tokens: PositiveTokens = 400  # of one summary
    max_input_tokens: PositiveTokens = 16_000  # of the turns summed up; the oldest beyond it are left out
    timeout: Seconds = 5.0


class History(Config, frozen=True):
    share: Share = 0.25  # of (window - reserve - fixed)
    max_tokens: Tokens = 8000
    summary: Summaries = Summaries()


class Rerank(Config, frozen=True):
    """Who puts the candidates in order before anything is chosen, and what follows where that fails."""

    by: str = "given"  # the caller's own scores, or a file name in `rerankers/`
    retrieve_k: PositiveTokens = 50  # so many candidates, the caller's best, are shown to it
    input_limit: PositiveTokens = 512  # tokens of one candidate that it reads; longer ones end after a whole sentence
    min_score: float | None = None  # below it, in the reranker's own scale, a candidate is not relevant
    on_failure: Literal["retrieval_order", "refuse"] = "retrieval_order"


class Caps(Config, frozen=True):
    """How much of a tool's result is shown."""

    max_tokens: PositiveTokens = 4000  # each
    max_rows: PositiveTokens = 200
    max_bytes: Annotated[int, Meta(gt=0)] | None = None


class ToolResults(Caps, frozen=True):
    """Results of tools that have no caps of their own."""

    max_total_tokens: PositiveTokens = 8000  # together
    clean_untagged: bool = False  # also in requests without documents; a result of a named tool is cleaned in any


class ToolAccess(Config, frozen=True):
    """The access label of whatever a tool returns. A document's own label can narrow it and not widen it."""

    label: str
    tenant: str | None = None  # None: whoever asks finds its own tenant's
    visibility: Literal["tenant", "listed"] = "tenant"
    groups: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    deny_groups: tuple[str, ...] = ()


class Tool(Caps, frozen=True):
    """One tool's results. What is said here holds in every mode, but for the caps."""

    returns: Literal["text", "documents"] = "text"  # `documents`: its results are packed like documents
    response_schema: dict[str, Any] | None = None  # JSON schema; a result that breaks it is left out
    redact: tuple[str, ...] = ()  # paths whose values are dropped: `customer.mail`, `*.note`; lists are passed through
    redact_packs: tuple[Literal["secrets", "pii"], ...] = ()  # searched for in them, beside those of `Redact`
    pagination: str | None = None  # the parameter that asks for the next page
    access: ToolAccess | None = None  # with `returns: documents`
    side_effect: bool = False  # it changes something outside, so what its calls say is looked at
    egress: bool = False  # it can carry what it is told outside, so labels may take it away

    @property
    def looks_inside(self) -> bool:
        """Whether its results are held against a schema or relieved of values, so that they have to be text."""
        return self.response_schema is not None or bool(self.redact)


ASSUME = "assume:"
# Kind of document, or `default` -> what becomes of one without a label.
OnMissing = dict[str, Annotated[str, Meta(pattern="^(deny|assume:.+)$")]]


class Access(Config, frozen=True):
    """What access labels mean, where there are keys."""

    labels: Annotated[tuple[str, ...], Meta(min_length=1)] = ("public", "internal", "confidential", "restricted")
    inside: tuple[str, ...] = ("restricted",)  # go only to models and rerankers whose entries accept them by name
    egress_up_to: str | None = None  # the highest label beside which egress tools are offered; None: the lowest of all
    on_missing_label: OnMissing = field(default_factory=dict)  # a key's own goes first
    require_sig: bool = False
    sig_max_age: Annotated[float, Meta(gt=0)] = 3600.0  # seconds


class Links(Config, frozen=True):
    """Links in answers to what the model was shown of others."""

    flag: bool = True  # those to hosts that are of no admitted document, and that neither user nor operator wrote
    allow: tuple[str, ...] = ()  # hosts that are never flagged: docs.example, or *.example for all below it


class Redact(Config, frozen=True):
    """What is replaced by placeholders before anything is counted or cut, in every mode.

    On by default are the rules that hardly ever take anything for a secret that is none, on what others wrote. Personal
    data may be what was asked for, and a user's own words are the user's.
    """

    packs: tuple[Literal["secrets", "pii"], ...] = ("secrets",)  # none: it is off
    documents: bool = True
    tool_results: bool = True  # those that are cleaned
    messages: bool = False  # what user and assistant say, and all other results; never system or developer messages
    deadline_ms: Annotated[int, Meta(gt=0, le=10_000)] = 250  # for all texts of a request


class Compress(Config, frozen=True):
    """Who says in two or three sentences what else would go for want of room. Without a model it goes."""

    model: str | None = None  # a name of the model list
    max_tokens: PositiveTokens = 200  # of each
    max_passages: PositiveTokens = 3  # asked about one after the other, in one request
    timeout: Seconds = 5.0  # for each


Crucial = Literal["excerpt", "others_first"]


class Evidence(Config, frozen=True):
    ceiling: Tokens = 6000
    max_passages: PositiveTokens = 10
    per_source: PositiveTokens = 2
    max_passage_tokens: PositiveTokens = 1500
    min_excerpt_tokens: PositiveTokens = 48
    rerank_keep: PositiveTokens = 8  # `topk` stops here
    beside_section: Tokens = 1  # passages of other sections, under the rule `one_section`
    floor: Share = 0.0  # relevance below this is dropped; 0 is off
    min_novelty: Share = 0.20  # `weighted` only
    languages: tuple[str, ...] = ()  # documents said to be in another are dropped; empty: none is
    line_prefix: Annotated[str, Meta(pattern=r"^[|>^~:]{1,3} \Z")] | None = None  # before each line of a passage
    merge_adjacent: bool = True  # neighbouring chunks of one source go in as one passage
    crucial: Crucial = "excerpt"  # the best passage takes its turn; `others_first`: it is whole, the others are cut
    compress: Compress = Compress()


class EvidenceOverride(Config, frozen=True):
    """A class's own evidence numbers; what is `null` is the policy's."""

    ceiling: Tokens | None = None
    max_passages: PositiveTokens | None = None
    per_source: PositiveTokens | None = None
    max_passage_tokens: PositiveTokens | None = None
    min_excerpt_tokens: PositiveTokens | None = None
    rerank_keep: PositiveTokens | None = None
    beside_section: Tokens | None = None
    floor: Share | None = None
    min_novelty: Share | None = None
    crucial: Crucial | None = None


class Minimum(Config, frozen=True):
    """What a class needs admitted; less is not sufficient."""

    passages: PositiveTokens = 1
    sources: PositiveTokens = 1


class QueryClass(Config, frozen=True):
    """One kind of question: how it is recognised, and what its answer and evidence need."""

    name: str
    priority: int = 100  # classes are tried in this order, lowest first
    answer_reserve: PositiveTokens = 700  # tokens
    cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # language -> regular expressions, any one suffices
    not_cues: dict[str, tuple[str, ...]] = field(default_factory=dict)  # these speak against it, whatever else matches
    evidence: EvidenceOverride = EvidenceOverride()
    recency: bool = False  # newer evidence weighs more
    tools_allow: tuple[str, ...] | None = None  # beside the policy's, where the client itself names this class
    rule: str | None = None  # file name in `decide/rules/`
    minimum: Minimum = Minimum()
    on_insufficient: Literal["scope_note", "ask_to_narrow", "second_pass", "parent_summary", "refuse"] = "scope_note"
    asked_by: Literal["model", "proxy"] = "model"  # who asks, under `ask_to_narrow`; the proxy asks no model at all


class Counting(Config, frozen=True):
    """When a model's own counting endpoint is asked, where the model list names one; it costs a round trip."""

    # `near_limit`: where count, margin and the answer's reserve come near the limit, and for what no rule counts.
    endpoint: Literal["never", "near_limit", "always"] = "near_limit"
    # `bounded` goes on with the upper end of the count; what no rule counts is refused either way.
    on_unavailable: Literal["refuse", "bounded"] = "bounded"


class Rollout(Config, frozen=True):
    """Which of the requests that the policy would enforce are enforced; all others are in shadow."""

    enforce_percent: Annotated[float, Meta(ge=0, le=100)] = 100.0  # raising it never takes anybody out
    by: Literal["conversation", "key"] = "conversation"  # what goes one way or the other as a whole


class Shadow(Config, frozen=True):
    """What is worked out beside a request in shadow."""

    external: bool = False  # rerankers, retrievers and models are asked for it, too, at their price


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
    rollout: Rollout = Rollout()
    baseline: Literal["render_all", "as_sent"] = "render_all"  # what is sent where nothing is enforced
    shadow: Shadow = Shadow()
    input_limit: PositiveTokens = 32_000  # the smallest context the operator wants to support
    safety_margin: Tokens = 64  # beside the count's own margin
    warn_instructions_tokens: PositiveTokens = 2000
    max_documents: PositiveTokens = 1000
    counting: Counting = Counting()
    answer: Answer = Answer()
    history: History = History()
    tool_results: ToolResults = ToolResults()
    tools: dict[str, Tool] = field(default_factory=dict)  # by name
    tools_allow: tuple[str, ...] | None = None  # the only tools that a request may offer; None: any
    redact: Redact = Redact()
    access: Access = Access()
    evidence: Evidence = Evidence()
    rerank: Rerank = Rerank()
    gates: tuple[str, ...] = (
        "wrong_language", "stale", "expired", "superseded", "empty", "repeated_id", "below_floor", "duplicate",
        "source_cap", "over_count", "low_novelty", "over_budget",
    )  # fmt: skip
    packer: str = "cover"
    order: Literal["best_first", "edges", "document"] = "best_first"
    format: Literal["xml", "markdown", "numbered"] = "xml"
    documents: Literal["ours", "upstream"] = "ours"  # `upstream`: leave the `documents` field to the provider
    invented_citations: Literal["flag", "strip", "error"] = "flag"
    links: Links = Links()
    tainted_calls: Literal["flag", "block"] = "flag"  # to tools with side effects, saying what only others said
    default_class: str = "general"
    follow_up: FollowUp = FollowUp()
    classes: tuple[QueryClass, ...] = (QueryClass("general"),)
    sources: Registry = Registry()  # what is registered of the places that documents come from
    digest: str = ""  # of the bytes this was read from
    files: Files | None = None  # those bytes

    def query_class(self, name: str) -> QueryClass:
        """The class of that name; one that nobody wrote down has the default numbers and no cues."""
        return next((one for one in self.classes if one.name == name), QueryClass(name))

    def has_class(self, name: str) -> bool:
        """Whether there is a class of that name."""
        return any(one.name == name for one in self.classes)
