"""A passage: a document after cleaning, as the gates and packers see it.

Knows: the one shape that every gate and packer works on, and what "so far" means to them.
Does not know: how text is cleaned or counted (both are done by then), which gates a policy has switched on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field

from elbowroom.clean.text import Text
from elbowroom.decide.alike import Alike
from elbowroom.needs import Steps
from elbowroom.read.policy import Compress, Crucial
from elbowroom.records import Document, Drop


class Part(Struct, frozen=True):
    """One document of a passage that was merged from several."""

    document: Document
    text: Text
    start: int  # where it begins in the passage's cleaned text, code points
    tokens: int  # what it would have cost alone, tag lines included


class Passage(Struct, frozen=True):
    document: Document  # of a merged passage: its first
    text: Text  # cleaned, and whatever is known of it
    title: str  # cleaned, one line; "" if there is none
    relevance: float  # 0..1, min-max within its scale; by rank where scores are missing
    rank: int  # 0 is the best by the caller's scores; ties by position
    tag_tokens: int  # its opening and closing lines
    body_tokens: int  # its whole cleaned text
    authority: float = 0.5  # registered authority of its source; 0.5 where nobody registered it
    version: str = ""  # like the title
    access_label: str = ""
    freshness_days: float | None = None  # registered: how old a copy from its source may be
    kind: str | None = None  # registered
    link: str | None = None  # registered: where a citation of it leads
    contained: tuple[
        Passage, ...
    ] = ()  # dropped because this one says all of it; their turn if it does not go in whole
    parts: tuple[Part, ...] = ()  # in the order of the text, where it was merged from several documents
    scored_in_part: bool = False  # our reranker saw its first sentences only
    tier: int = 0  # a class's rule: whoever has a lower one is tried first
    most: int | None = None  # a class's rule: so many tokens of it at most, tag lines included, so that others get in

    @property
    def shown(self) -> tuple[str, str, str]:
        """What its tag says of it."""
        return self.title, self.version, self.access_label

    @property
    def tokens(self) -> int:
        """What admitting it whole costs, tag lines included."""
        return self.tag_tokens + self.body_tokens


class Admitted(Struct, frozen=True):
    """A passage that goes in: whole, or as an excerpt of whole sentences."""

    passage: Passage
    body: str  # what is sent of it
    tokens: int  # tag lines included
    spans: tuple[tuple[int, int], ...] = ()  # of the cleaned text, in code points; empty where it is whole
    form: str = "whole"  # "excerpt", "highlights", "parent" (spans of its parent's); no spans: "summary", "compressed"


class Dropped(Struct, frozen=True):
    passage: Passage
    reason: Drop
    detail: str = ""


class Refusal(Struct, frozen=True):
    """A gate's no: the detail for the trace, and the kept passage that it repeats or gives way to, if that is why."""

    detail: str
    repeats: Passage | None = None  # says the same
    yields_to: Passage | None = None  # answers the same questions, and says something else


class Room(Struct, frozen=True):
    """What a gate may look at beside the passage: who was let in before it, and what is left."""

    admitted: Sequence[Passage]  # in the order in which they were let in; grows, never shrinks, while a gate lives
    tokens_left: int = 0  # of the evidence budget; means something to the pack-moment gates only
    cost: int = 0  # what this passage costs as it would be sent now (whole or excerpt), tokens
    novelty: float = 1.0  # of this passage against what was let in, where a packer knows it
    alike: Alike = field(default_factory=Alike)  # which of the admitted a text is like; means something to the sift's


class Gate(Protocol):
    """One reason to leave a passage out. Lives for one request: it may remember what it has seen in `room`."""

    def __call__(self, passage: Passage, room: Room, /) -> Refusal | None: ...


class GateModule(Protocol):
    """What a file in `gates/` exports."""

    REASON: Drop
    MOMENT: Literal["sift", "pack"]  # before anything is packed, or each time a packer wants to let one in

    def build(self, limits: Limits, /) -> Gate: ...


class Limits(Struct, frozen=True):
    """The evidence numbers that hold for this request: the policy's, with the class's own over them."""

    ceiling: int
    max_passages: int
    per_source: int
    max_passage_tokens: int
    min_excerpt_tokens: int
    rerank_keep: int
    floor: float
    min_novelty: float
    recency: bool = False
    beside_section: int = 1
    languages: tuple[str, ...] = ()  # documents said to be in another are left out; empty: none is
    merge_adjacent: bool = False
    crucial: Crucial = "excerpt"
    compress: Compress = Compress()
    line_prefix: str | None = None  # before each line of what is sent
    now: float | None = None  # seconds since 1970, UTC; None: nobody said, so nothing is too old


class Packing(Struct, frozen=True):
    """What a packer hands back: every passage it was given is in exactly one of the two."""

    admitted: tuple[Admitted, ...]  # best first
    dropped: tuple[Dropped, ...]
    lacks: str = ""  # what a class's rule misses among the admitted, in words that hold no text of the request
    shown: tuple[int, int] | None = None  # sources admitted, of how many; None: the class does not ask for all


class Job(Struct, frozen=True):
    """What a packer is given."""

    passages: tuple[Passage, ...]  # survivors of the sift, by tier and rank
    question: Mapping[str, float]  # terms of the question -> weight (1.0, or 0.5 for a follow-up's last turn)
    question_text: str
    budget: int  # tokens for tag lines and bodies (the note is already taken off)
    limits: Limits
    vocabulary: str  # for the counts of excerpts
    gates: tuple[tuple[Drop, Gate], ...]  # the pack-moment gates in the policy's order
    reranked: bool = False


class Packer(Protocol):
    """A module in `packers/` is one packer: it exports `pack(job)`. Deterministic; ties by rank."""

    def __call__(self, job: Job) -> Steps[Packing]: ...
