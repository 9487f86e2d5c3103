"""What became of each document, as the trace tells it.

Knows: how a choice reads as one line a document: label or reason, tokens, spans, keyed hash.
Does not know: why (the gates and packers said so), or any way back from a hash to a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from elbowroom.clean.known import Known
from elbowroom.clean.sanitise import sanitise
from elbowroom.decide.access import Denied
from elbowroom.decide.cleanings import cleanings, cleanings_before
from elbowroom.decide.passage import Admitted, Dropped, Part, Passage
from elbowroom.decide.redaction import Searched
from elbowroom.decide.sift import Ids
from elbowroom.records import MOST_SPANS, Document, Drop, Fate, Source

_LONGEST_LABEL = 120  # characters; without keys a label may be anything


def fates(
    labelled: Sequence[tuple[str, Admitted]],
    dropped: Sequence[Dropped],
    also_in: Ids,
    hash_key: bytes,
    disputes: Ids = {},  # noqa: B006 -- nobody changes it
) -> tuple[Fate, ...]:
    """One fate a document, in the client's order; the documents of a merged passage share its label."""
    told: list[Fate] = []
    for label, one in labelled:
        told += _admitted(label, one, also_in, disputes, hash_key)
    for gone in dropped:
        told += [
            _fate(part, hash_key, decision="dropped", reason=gone.reason, detail=gone.detail, tokens=part.tokens)
            for part in _parts(gone.passage)
        ]
    shown = [*((one.passage, one.form) for _, one in labelled), *((gone.passage, "whole") for gone in dropped)]
    cleaned = {passage.document.position: found for passage, form in shown if (found := cleanings(passage, form))}
    told = [replace(one, cleanings=cleaned[one.position]) if one.position in cleaned else one for one in told]
    return tuple(sorted(told, key=lambda fate: fate.position))


def denials(denied: Sequence[Denied], hash_key: bytes) -> tuple[Fate, ...]:
    """The fates of documents that may not be seen: a keyed hash of the text and no name."""
    return tuple(
        Fate(
            one.document.position,
            "",
            "dropped",
            reason=Drop.NOT_PERMITTED,
            detail=one.why,
            message=one.document.message,
            digest=keyed(one.document.text or "", hash_key),
        )
        for one in denied
    )


def as_they_came(
    told: Sequence[Fate], searched: Mapping[int, Searched], known: Known, hash_key: bytes
) -> tuple[Fate, ...]:
    """The fates with what was found in their documents, and what was cleaned of them before it was replaced."""
    return tuple(
        _as_it_came(fate, searched[fate.position], known, hash_key) if fate.position in searched else fate
        for fate in told
    )


def _as_it_came(fate: Fate, searched: Searched, known: Known, hash_key: bytes) -> Fate:
    raw = searched.came.text or ""
    text = known.text(raw)
    return replace(
        fate,
        redactions=searched.redactions,
        cleanings=cleanings_before(fate.cleanings, searched.came, known),
        stripped=text.stripped,
        stripped_spans=text.stripped_spans[:MOST_SPANS],
        digest=keyed(raw, hash_key),
    )


def _admitted(label: str, one: Admitted, also_in: Ids, disputes: Ids, hash_key: bytes) -> Iterator[Fate]:
    """What is sent of a merged passage is counted once, with the first of its documents that has a part in it."""
    passage, parts = one.passage, _parts(one.passage)
    tokens = one.tokens
    for part, after in zip(parts, [*(part.start for part in parts[1:]), len(passage.text.clean)], strict=True):
        position = part.document.position
        spans = one.spans if len(parts) == 1 else tuple(_inside(one.spans, part.start, after))
        if one.spans and not spans:
            detail = f"merged into {label}, of which nothing is sent that it says"
            yield _fate(part, hash_key, decision="dropped", reason=Drop.OVER_BUDGET, detail=detail, tokens=part.tokens)
            continue
        yield _fate(
            part,
            hash_key,
            decision="admitted",
            label=label,
            tokens=tokens,
            digest_sent=keyed(one.body, hash_key),
            spans=spans,
            form=one.form,
            detail=_form(one) if len(parts) == 1 else f"merged with {_others(parts, part)}",
            stale_score=_is_scored(part.document) and _differs(one),
            also_in=also_in.get(position, ()),
            disputes=disputes.get(position, ()),
        )
        tokens = 0


def _parts(passage: Passage) -> tuple[Part, ...]:
    return passage.parts or (Part(passage.document, passage.text, 0, passage.tokens),)


def _inside(spans: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """What of the spans lies in this part, by its own places."""
    for first, last in spans:
        if first < end and last > start:
            yield max(first, start) - start, min(last, end) - start


def _form(one: Admitted) -> str:
    return f"spans are of its parent {one.passage.document.parent_id}" if one.form == "parent" else ""


def _others(parts: Sequence[Part], part: Part) -> str:
    return ", ".join(other.document.id for other in parts if other is not part)


def keyed(text: str, hash_key: bytes) -> str:
    """The keyed hash by which a trace knows a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=hash_key[:64], digest_size=16).hexdigest()


def disputes(told: Sequence[Fate]) -> list[str]:
    """A remark for every two admitted passages that say different things of one thing, nothing saying who is right."""
    labels = {fate.id: fate.label for fate in told if fate.label}
    pairs = {
        tuple(sorted((fate.label, labels[other])))
        for fate in told
        if fate.label
        for other in fate.disputes
        if other in labels and labels[other] != fate.label
    }
    return [f"{one} and {two} are versions of one text and disagree" for one, two in sorted(pairs)]


def source_of(label: str, passage: Passage) -> Source:
    """Where an admitted passage comes from, for citations; its title as it can be seen, None where nothing can."""
    document = passage.document
    title = " ".join(sanitise(document.title or "").text.split()) or None
    others = tuple(part.document.id for part in passage.parts[1:])
    return Source(label, document.id, title, passage.link or document.url, document.source_id, others)


def _label(document: Document) -> str | None:
    label = (document.access or {}).get("label")
    return label[:_LONGEST_LABEL] if isinstance(label, str) else None


def _is_scored(document: Document) -> bool:
    return document.rerank_score is not None or document.score is not None


def _differs(one: Admitted) -> bool:
    """Whether what is sent is not what was scored: shortened, merged, summed up, or read in part."""
    passage = one.passage
    return bool(passage.parts) or passage.scored_in_part or one.body != passage.text.clean


def _fate(part: Part, hash_key: bytes, **told: object) -> Fate:
    document, text = part.document, part.text
    return Fate(
        position=document.position,
        id=document.id,
        tokens_before=part.tokens,
        source_id=document.source_id,
        version=document.version,
        score=document.rerank_score if document.rerank_score is not None else document.score,
        stripped=text.stripped,
        neutralised=text.neutralised,
        stripped_spans=text.stripped_spans[:MOST_SPANS],
        neutralised_spans=text.broken_spans[:MOST_SPANS],
        message=document.message,
        digest=keyed(document.text or "", hash_key),
        access=_label(document),
        **told,  # type: ignore[arg-type]
    )
