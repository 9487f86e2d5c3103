"""What became of each document, as the trace tells it.

Knows: how a choice reads as one line a document: label or reason, tokens, spans, keyed hash.
Does not know: why (the gates and packers said so), or any way back from a hash to a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from elbowroom.decide.passage import Admitted, Dropped, Passage
from elbowroom.records import Fate, Source


def fates(
    labelled: Sequence[tuple[str, Admitted]],
    dropped: Sequence[Dropped],
    also_in: Mapping[int, tuple[str, ...]],
    hash_key: bytes,
) -> tuple[Fate, ...]:
    """One fate a document, in the client's order."""
    told = [
        _fate(
            one.passage,
            hash_key,
            decision="admitted",
            label=label,
            tokens=one.tokens,
            spans=one.spans,
            also_in=also_in.get(one.passage.document.position, ()),
        )
        for label, one in labelled
    ]
    told += [
        _fate(
            one.passage, hash_key, decision="dropped", reason=one.reason, detail=one.detail, tokens=one.passage.tokens
        )
        for one in dropped
    ]
    return tuple(sorted(told, key=lambda fate: fate.position))


def source_of(label: str, passage: Passage) -> Source:
    """Where an admitted passage comes from, for citations."""
    document = passage.document
    return Source(label, document.id, document.title, document.url, document.source_id)


def _fate(passage: Passage, hash_key: bytes, **told: object) -> Fate:
    document, text = passage.document, passage.text
    content = (document.text or "").encode("utf-8", "surrogatepass")
    return Fate(
        position=document.position,
        id=document.id,
        tokens_before=passage.tokens,
        source_id=document.source_id,
        version=document.version,
        score=document.rerank_score if document.rerank_score is not None else document.score,
        stripped=text.stripped,
        neutralised=text.neutralised,
        digest=hashlib.blake2b(content, key=hash_key[:64], digest_size=16).hexdigest(),
        **told,  # type: ignore[arg-type]
    )
