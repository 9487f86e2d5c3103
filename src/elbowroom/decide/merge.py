"""Neighbouring chunks of one source become one passage.

Knows: which chunks follow each other, that what both hold at their seam is said once, and how long a passage may be.
Does not know: who was dropped before, or what goes in. A merged passage is one passage to caps and packers, and all its
documents at once to the trace and to citations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.decide.passage import Part, Passage
from elbowroom.needs import Steps

SEAM = 16  # characters: a shorter end that is also a beginning is chance


def merge(passages: Sequence[Passage], most: int, tally: Tally) -> Steps[tuple[Passage, ...]]:
    """The passages by rank, runs of chunks merged, none of them longer than `most` tokens, tag lines included.

    A merged passage has the best rank and relevance of its chunks. One question is asked, and none where none merge.
    """
    groups = [group for run in _runs(passages) for group in _within(run, most)]
    texts = [_joined([one.text for one in group]) for group in groups]
    yield from tally.measure(tally.body(text.clean) for text, _ in texts)
    gone: set[int] = set()
    merged: list[Passage] = []
    for group, (text, starts) in zip(groups, texts, strict=True):
        tokens = tally.tokens[tally.body(text.clean)]
        if starts and group[0].tag_tokens + tokens <= most:
            gone.update(one.document.position for one in group)
            merged.append(_merged(group, text, starts, tokens))
    alone = [one for one in passages if one.document.position not in gone]
    return tuple(sorted([*alone, *merged], key=lambda one: (one.tier, one.rank)))


def _runs(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    """Chunks of one version of one text that follow each other, two or more."""
    texts: dict[tuple[str | None, ...], dict[int, list[Passage]]] = {}
    for passage in passages:
        document = passage.document
        if document.source_id is not None and document.chunk_index is not None:
            of = (document.source_id, document.version, document.lang, passage.title, str(document.message))
            texts.setdefault(of, {}).setdefault(document.chunk_index, []).append(passage)
    for chunks in texts.values():
        run: list[Passage] = []
        last = None
        for at in sorted(chunks):
            # Two that say they are the same chunk: neither is known to follow another.
            only = chunks[at][0] if len(chunks[at]) == 1 else None
            if only is None or last is None or at != last + 1:
                if len(run) > 1:
                    yield run
                run = []
            run += [only] if only is not None else []
            last = at if only is not None else None
        if len(run) > 1:
            yield run


def _within(run: Sequence[Passage], most: int) -> Iterator[list[Passage]]:
    """The run, cut where it would become too long; pieces of two chunks or more."""
    group: list[Passage] = []
    for passage in run:
        if group and group[0].tag_tokens + sum(one.body_tokens for one in (*group, passage)) > most:
            if len(group) > 1:
                yield group
            group = []
        group.append(passage)
    if len(group) > 1:
        yield group


def _joined(texts: Sequence[Text]) -> tuple[Text, tuple[int, ...]]:
    """The texts as one, and where each begins in it; nowhere, if what is cleaned once would be cleaned again."""
    whole, starts = "", []
    for text in texts:
        shared = overlap(whole, text.clean)
        whole = whole[: len(whole) - shared]
        whole += "\n" if whole and not shared else ""
        starts.append(len(whole))
        whole += text.clean
    read = texts[0].like(whole)
    return read, tuple(starts) if read.clean == whole else ()


def overlap(text: str, after: str) -> int:
    """How many characters end the one and begin the other, the most that do."""
    seam = after[:SEAM]
    at = text.find(seam, max(0, len(text) - len(after))) if len(seam) == SEAM else -1
    while at >= 0:
        if after.startswith(text[at:]):
            return len(text) - at
        at = text.find(seam, at + 1)
    return 0


def _merged(group: Sequence[Passage], text: Text, starts: Sequence[int], tokens: int) -> Passage:
    return replace(
        group[0],
        text=text,
        body_tokens=tokens,
        relevance=max(one.relevance for one in group),
        rank=min(one.rank for one in group),
        tier=min(one.tier for one in group),
        authority=min(one.authority for one in group),
        contained=tuple(other for one in group for other in one.contained),
        parts=tuple(Part(one.document, one.text, start, one.tokens) for one, start in zip(group, starts, strict=True)),
    )
