"""Which documents are versions of which.

Knows: what a document may claim (`supersedes`, its `version`), and when two passages are about the same thing.
Does not know: whether a claim holds against a source of more authority (the gate does), or what a text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from elbowroom.clean.text import normal
from elbowroom.decide.passage import Passage
from elbowroom.records import Document

_VERSION = re.compile(r"v?([0-9]{1,9}(?:[.-][0-9]{1,9})*)(?:[T ].*)?", re.IGNORECASE)
_A_YEAR = 1900  # a version that begins with so much is a date

Version = tuple[int, ...]


def version_of(document: Document) -> Version | None:
    """`2026-10-01`, `v1.10` or `3` as something that can be compared; None for any other word."""
    found = _VERSION.fullmatch(document.version or "")
    return tuple(map(int, re.split("[.-]", found[1]))) if found else None


def is_newer(version: Version, than: Version) -> bool:
    """Whether it is later; a date and a number cannot be told."""
    return (version[0] >= _A_YEAR) == (than[0] >= _A_YEAR) and version > than


def same_subject(passage: Passage, other: Passage) -> bool:
    """Whether two texts that are much alike are about one thing: not where titles differ, or one source has both."""
    if passage.title and other.title and normal(passage.title) != normal(other.title):
        return False
    one, two = passage.document, other.document
    chunks = one.chunk_index is not None and two.chunk_index is not None and one.chunk_index != two.chunk_index
    return not (chunks and one.source_id == two.source_id and one.version == two.version)


class Claims:
    """Who says of whom that it is outdated."""

    def __init__(self) -> None:
        self._claimants: dict[str, list[tuple[Passage, str]]] = {}  # by id or source; with a version, or ""
        self._newest: dict[tuple[str, str], Passage] = {}  # by source and title

    def add(self, passage: Passage) -> None:
        document = passage.document
        if not document.supersedes and document.version is None:
            return
        for name in document.supersedes:
            source, at, version = name.rpartition("@")
            self._claimants.setdefault(source if at else name, []).append((passage, version if at else ""))
            if at:
                self._claimants.setdefault(name, []).append((passage, ""))
        key, version_ = _chain(passage), version_of(document)
        if key and version_:
            newest = self._newest.get(key)
            if newest is None or is_newer(version_, version_of(newest.document) or ()):
                self._newest[key] = passage

    def against(self, passage: Passage) -> Iterator[tuple[Passage, bool]]:
        """Those who outdate it: by its name (True), or because they are a newer version of its source (False)."""
        document = passage.document
        for name in dict.fromkeys((document.id, document.source_id)) if self._claimants else ():
            for claimant, version in self._claimants.get(name or "", ()):
                if claimant.document.position != document.position and _is_meant(document, claimant.document, version):
                    yield claimant, True
        version_ = version_of(document) if self._newest else None
        key = _chain(passage) if version_ else None
        newest = self._newest.get(key) if key else None
        if newest is not None and version_ and is_newer(version_of(newest.document) or (), version_):
            yield newest, False


def newer_first(passages: Sequence[Passage]) -> list[Passage]:
    """The same passages in the same order, except that whoever outdates another comes before it."""
    if all(not one.document.supersedes and one.document.version is None for one in passages):
        return list(passages)
    claims = Claims()
    for passage in passages:
        claims.add(passage)
    places = {passage.document.position: at for at, passage in enumerate(passages)}
    above = [{places[one.document.position] for one, _ in claims.against(passage)} for passage in passages]
    below: dict[int, list[int]] = {}
    for at, some in enumerate(above):
        for one in some:
            below.setdefault(one, []).append(at)
    ready = [at for at, some in enumerate(above) if not some]
    heapify(ready)
    waiting = dict.fromkeys(at for at, some in enumerate(above) if some)
    ordered = []
    while ready or waiting:
        # Two that outdate each other: the preferred one first.
        at = heappop(ready) if ready else next(iter(waiting))
        waiting.pop(at, None)
        ordered.append(passages[at])
        for one in below.get(at, ()):
            above[one].discard(at)
            if not above[one] and one in waiting:
                del waiting[one]
                heappush(ready, one)
    return ordered


def _chain(passage: Passage) -> tuple[str, str] | None:
    """What the versions of one text have in common: a source, and a title, as some name all their texts one source."""
    source = passage.document.source_id
    return (source, normal(passage.title)) if source else None


def _is_meant(document: Document, claimant: Document, version: str) -> bool:
    """Whether a claim about this document's name is about it: its version where one is named, else another source's."""
    if version:
        return re.match(re.escape(version) + r"(?!\w)", document.version or "") is not None
    return document.source_id is None or document.source_id != claimant.source_id or document.id in claimant.supersedes
