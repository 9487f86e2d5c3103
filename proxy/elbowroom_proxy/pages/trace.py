"""One record as its page shows it: the four questions answered first, then everything they rest on.

Knows: which of a record's fields answer which question, and that records of earlier versions lack some.
Does not know: any text of a document that was not captured; how anything is drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from elbowroom.records import Drop
from elbowroom_proxy.pages.window import Bar, bar

Record = Mapping[str, Any]

REASONS = {
    Drop.NOT_PERMITTED: "whoever asked may not see it",
    Drop.WRONG_LANGUAGE: "in another language than the question's class takes",
    Drop.STALE: "older than its source may be",
    Drop.EXPIRED: "past its date",
    Drop.SUPERSEDED: "a newer version was there",
    Drop.EMPTY: "no text",
    Drop.REPEATED_ID: "its id had been there before",
    Drop.REDACTION_FAILED: "it could not be searched for secrets",
    Drop.BELOW_FLOOR: "scored below the least that counts",
    Drop.DUPLICATE: "says what another passage says",
    Drop.SOURCE_CAP: "its source has its share already",
    Drop.OVER_COUNT: "as many passages as the class takes were in",
    Drop.LOW_NOVELTY: "adds little to the passages above it",
    Drop.OVER_BUDGET: "no room left in the evidence budget",
}
STEPS = {
    "passages_dropped": "passages left out",
    "passages_shortened": "passages cut to their best sentences",
    "messages_summarised": "earlier messages summed up",
    "messages_dropped": "earlier messages left out",
    "examples_dropped": "examples left out",
    "passages_compressed": "passages said in fewer words",
}
NOT_CAPTURED = "not kept (capture: hash)"


class Passage(Struct, frozen=True):
    """One document and what became of it."""

    position: int
    id: str  # its keyed hash where whoever asked may not see it
    named: bool  # `id` is an id
    label: str | None
    decision: str
    reason: str | None
    why: str  # in words
    tokens: int
    tokens_before: int
    form: str
    score: float | None
    source: str | None
    version: str | None
    access: str | None
    cited: bool | None  # None: nobody could say
    marks: tuple[str, ...]  # what was done to its text, and what stands against it
    digest: str
    title: str | None = None  # where it was captured; the text likewise
    text: str | None = None


class Instruction(Struct, frozen=True):
    """One system or developer text."""

    role: str
    digest: str
    text: str | None  # where it is stored


class LeftOut(Struct, frozen=True):
    """All documents that were dropped for one reason."""

    reason: str
    why: str
    n: int
    tokens: int
    ids: tuple[str, ...]


class Stretch(Struct, frozen=True):
    """A part of the request's time; `x` and `width` in percent of the whole."""

    name: str
    ms: float
    x: float
    width: float


class TracePage(Struct, frozen=True):
    """What the template draws."""

    record: Record
    badges: tuple[tuple[str, str], ...]  # (good, note, warn or bad; words)
    bar: Bar | None
    passages: tuple[Passage, ...]  # the admitted first, in the order in which the model saw them
    left_out: tuple[LeftOut, ...]  # the most frequent first
    yielded: tuple[tuple[str, int], ...]  # what there was no room for, and how many
    results: tuple[Record, ...]  # tool results
    timeline: tuple[Stretch, ...]
    answer: str | None = None  # where it was captured

    @property
    def why_class(self) -> str:
        """Who chose the class, and by what."""
        said = self.record.get("classified") or {}
        cue = f" {said['cue'][:60]}" if said.get("cue") else ""
        return f"chosen by {said.get('by') or 'nobody'}{cue}" + (", a follow-up" if said.get("follow_up") else "")

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The system and developer texts that governed it."""
        return ()

    @property
    def no_instructions(self) -> str:
        """What is said where none of them is known."""
        tokens = (self.record.get("window") or {}).get("instructions")
        return "no system or developer text" if tokens == 0 else "the record does not say which system text governed it"

    @property
    def since(self) -> tuple[Record, ...]:
        """Tool results since the last question."""
        return self.results

    @property
    def money(self) -> tuple[tuple[str, str], ...]:
        """What was held for it and what it came to."""
        return ()

    @property
    def admitted(self) -> tuple[Passage, ...]:
        """Those that the model was shown."""
        return tuple(one for one in self.passages if one.decision == "admitted")

    @property
    def supporting(self) -> tuple[Passage, ...]:
        """Those that the answer cites."""
        return tuple(one for one in self.admitted if one.cited)


def page(record: Record, captured: Record | None = None) -> TracePage:
    """`captured` are its texts: the request's body and its answer, where they were kept."""
    documents: Sequence[Record] = record.get("documents") or ()
    tagged = ((captured or {}).get("body") or {}).get("documents")
    passages = tuple(_passage(one, record, tagged) for one in sorted(documents, key=_order))
    return TracePage(
        record=record,
        badges=tuple(_badges(record)),
        bar=bar(record),
        passages=passages,
        left_out=_left_out(passages),
        yielded=tuple((STEPS.get(one["step"], one["step"]), one["n"]) for one in record.get("too_much") or ()),
        results=tuple(record.get("tool_results") or ()),
        timeline=tuple(_timeline(record.get("timings_ms") or {})),
        answer=(captured or {}).get("answer"),
    )


def _badges(record: Record) -> Iterator[tuple[str, str]]:
    status = record.get("status")
    if status is not None:
        yield ("good" if status < 400 else "bad"), f"status {status}"
    if record.get("mode"):
        yield "note", str(record["mode"])
    if record.get("killed"):
        yield "warn", "kill switch pulled"
    cited = record.get("cited") or {}
    if cited.get("invented"):
        yield "bad", "cites what nobody gave out"
    if record.get("evidence_sufficient") is False:
        yield "warn", "evidence insufficient"
    if record.get("disconnected"):
        yield "warn", "client left"
    if record.get("calls_refused"):
        yield "bad", f"{record['calls_refused']} tool calls refused"
    if record.get("calls_tainted"):
        yield "warn", f"{record['calls_tainted']} tool calls only documents explain"
    links = record.get("links_flagged") or {}
    if flagged := sum(links.values()):
        yield "warn", f"{flagged} links to strangers"
    if record.get("count_error"):
        yield "warn", f"billed {record['count_error']:+,} beside the count"
    if record.get("label_incomplete"):
        yield "warn", f"{record['label_incomplete']} access labels unreadable"


def why_no_replay(record: Record) -> str:
    """What keeps a request that was not captured from being decided again."""
    if record.get("policy") is None:
        return "No decision was taken about it, so there is none to take again."
    return (
        "Its text is not kept (capture: hash), so it cannot be decided again from the record alone. Whoever has the "
        "request can supply it; whether the recorded decision comes out again shows whether it is the same."
    )


def _passage(one: Record, record: Record, tagged: Any) -> Passage:
    cited = record.get("cited")
    reason = one.get("reason")
    words = REASONS.get(Drop(reason), "") if reason in set(Drop) else ""
    label = one.get("label")
    return Passage(
        position=one["position"],
        id=one["id"] or one.get("digest") or "",
        named=bool(one["id"]),
        label=label,
        decision=one["decision"],
        reason=reason,
        why=one.get("detail") or words,
        tokens=one.get("tokens") or 0,
        tokens_before=one.get("tokens_before") or 0,
        form=one.get("form") or "whole",
        score=one.get("score"),
        source=one.get("source_id"),
        version=one.get("version"),
        access=one.get("access"),
        cited=None if not cited or label is None else label in cited["verified"],
        marks=tuple(_marks(one)),
        digest=one.get("digest") or "",
        title=_said(tagged, one, "title"),
        text=_said(tagged, one, "text"),
    )


def _said(tagged: Any, one: Record, name: str) -> str | None:
    """What the captured body says of a tagged document; those that came in messages are read there."""
    if not isinstance(tagged, list) or one.get("message") is not None or not one["id"]:
        return None
    document = tagged[one["position"]] if one["position"] < len(tagged) else None
    found = document.get(name) if isinstance(document, dict) else document if name == "text" else None
    return found if isinstance(found, str) else None


def _marks(one: Record) -> Iterator[str]:
    if one.get("spans"):
        yield (
            "sentences "
            + ", ".join(f"{start}–{end}" for start, end in one["spans"][:4])
            + (" …" if len(one["spans"]) > 4 else "")
        )
    if one.get("also_in"):
        yield "also in " + ", ".join(one["also_in"])
    if one.get("disputes"):
        yield "disagrees with " + ", ".join(one["disputes"])
    if one.get("stripped"):
        yield f"{one['stripped']:,} invisible characters removed"
    if one.get("neutralised"):
        yield f"{one['neutralised']:,} control strings broken"
    for redaction in one.get("redactions") or ():
        yield f"{redaction['rule']}#{redaction['number']} redacted"
    if one.get("stale_score"):
        yield "scored on another text"
    if one.get("message") is not None:
        yield f"came in message {one['message']}"


def _left_out(passages: Sequence[Passage]) -> tuple[LeftOut, ...]:
    by_reason: dict[str, list[Passage]] = defaultdict(list)
    for one in passages:
        if one.reason is not None:
            by_reason[one.reason].append(one)
    found = [
        LeftOut(
            reason,
            REASONS.get(Drop(reason), "") if reason in set(Drop) else "",
            len(some),
            sum(one.tokens for one in some),
            tuple(one.id for one in some if one.named),
        )
        for reason, some in by_reason.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.n, one.reason)))


def _timeline(timings: Mapping[str, float]) -> Iterator[Stretch]:
    """From the request to the answer's end. What is not between two of the known moments is not drawn."""
    whole = max(timings.values(), default=0.0)
    if not whole:
        return
    at = 0.0
    for moment, name in (
        ("overhead", "read, decided, packed"),
        ("first_byte", "waited for the model"),
        ("total", "answered"),
    ):
        until = timings.get(moment)
        if until is None or until < at:
            continue
        yield Stretch(name, until - at, round(100 * at / whole, 3), max(0.3, round(100 * (until - at) / whole, 3)))
        at = until


def _order(one: Record) -> tuple[bool, int, int]:
    label = one.get("label")
    return label is None, int(label[1:]) if label else 0, one["position"]
