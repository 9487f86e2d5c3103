"""A record's documents as the page's table shows them, and those that were left out by reason.

Knows: what each reason means in words, what was done to a text, and where a captured body says it.
Does not know: any text that was not captured; how a table is drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from elbowroom.records import Drop

SPANS = 4  # of one text
REASONS = {
    Drop.NOT_PERMITTED: "whoever asked may not see it",
    Drop.WRONG_LANGUAGE: "in another language than the question's class takes",
    Drop.STALE: "older than its source may be",
    Drop.EXPIRED: "past its date",
    Drop.SUPERSEDED: "a newer version was there",
    Drop.EMPTY: "no text",
    Drop.REPEATED_ID: "its id had been there before",
    Drop.REDACTION_FAILED: "it could not be searched for secrets",
    Drop.NOT_ADDED: "nothing was to be added to this request",
    Drop.BELOW_FLOOR: "scored below the least that counts",
    Drop.DUPLICATE: "says what another passage says",
    Drop.SOURCE_CAP: "its source has its share already",
    Drop.OVER_COUNT: "as many passages as the class takes were in",
    Drop.LOW_NOVELTY: "adds little to the passages above it",
    Drop.OVER_BUDGET: "no room left in the evidence budget",
}


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
    title: str | None = None  # where it was captured; the text likewise
    text: str | None = None


class LeftOut(Struct, frozen=True):
    """All documents that were dropped for one reason."""

    reason: str
    why: str
    n: int
    tokens: int


def passages(record: Mapping[str, Any], body: Mapping[str, Any] | None = None) -> tuple[Passage, ...]:
    """The admitted as the model saw them, then the dropped as they came. `body`: the request, where it was captured."""
    documents = record["documents"] or ()
    return tuple(_passage(one, record["cited"], body or {}) for one in sorted(documents, key=_order))


def left_out(found: Sequence[Passage]) -> tuple[LeftOut, ...]:
    """By reason, the most frequent first."""
    by_reason: dict[str, list[Passage]] = defaultdict(list)
    for one in found:
        if one.reason is not None:
            by_reason[one.reason].append(one)
    sums = [
        LeftOut(reason, _words(reason), len(some), sum(one.tokens for one in some))
        for reason, some in by_reason.items()
    ]
    return tuple(sorted(sums, key=lambda one: (-one.n, one.reason)))


def _passage(one: Mapping[str, Any], cited: Mapping[str, Any] | None, body: Mapping[str, Any]) -> Passage:
    label, reason = one["label"], one["reason"]
    return Passage(
        position=one["position"],
        id=one["id"] or one["digest"] or "",
        named=bool(one["id"]),
        label=label,
        decision=one["decision"],
        reason=reason,
        why=one["detail"] or _words(reason),
        tokens=one["tokens"] or 0,
        tokens_before=one["tokens_before"] or 0,
        form=one["form"] or "whole",
        score=one["score"],
        source=one["source_id"],
        version=one["version"],
        access=one["access"],
        cited=None if not cited or label is None else label in cited["verified"],
        marks=tuple(_marks(one)),
        title=_said(body.get("documents"), one, "title"),
        text=_said(body.get("documents"), one, "text"),
    )


def _words(reason: str | None) -> str:
    """Of a reason that is not known here, none."""
    return REASONS[Drop(reason)] if reason in set(Drop) else ""


def _said(tagged: Any, one: Mapping[str, Any], name: str) -> str | None:
    """What the captured body says of a tagged document; those that came in messages are read there."""
    if not isinstance(tagged, list) or one["message"] is not None or not one["id"] or one["position"] >= len(tagged):
        return None
    document = tagged[one["position"]]
    found = document.get(name) if isinstance(document, dict) else document if name == "text" else None
    return found if isinstance(found, str) else None


def _marks(one: Mapping[str, Any]) -> Iterator[str]:
    if spans := one["spans"]:
        more = " …" if len(spans) > SPANS else ""
        yield "characters " + ", ".join(f"{start}–{end}" for start, end in spans[:SPANS]) + more
    for name, says in (("also_in", "also in"), ("disputes", "disagrees with")):
        if one[name]:
            yield f"{says} {', '.join(one[name])}"
    for name, says in (("stripped", "invisible characters removed"), ("neutralised", "control strings broken")):
        if one[name]:
            yield f"{one[name]:,} {says}"
    for redaction in one["redactions"] or ():
        yield f"{redaction['rule']}#{redaction['number']} redacted"
    if one["stale_score"]:
        yield "scored on another text"
    if one["message"] is not None:
        yield f"came in message {one['message']}"


def _order(one: Mapping[str, Any]) -> tuple[bool, int, int]:
    label = one["label"]
    return label is None, int(label[1:]) if label else 0, one["position"]
