"""Citations in an answer: `[S1]` checked against the labels that were admitted, while the answer streams.

Knows: what a marker looks like (`[S1]`, or `【S1】` as some models write; one label in each; adjacent ones count each),
and how clients want to be told (`url_citation` annotations).
Does not know: whether the text behind a label supports the claim. "Verified" means that the label was admitted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from elbowroom.records import Source

# Four digits at most, so that an unfinished marker is never longer than six characters.
_MARKER = re.compile(r"\[(S[0-9]{1,4})\]|【(S[0-9]{1,4})】")
_UNFINISHED = re.compile(r"[\[【](?:S[0-9]{0,4})?\Z")


class Citation(Struct, frozen=True):
    """One marker in the answer; `start` and `end` in code points of the whole answer's text."""

    label: str
    start: int
    end: int
    status: Literal["verified", "invented"]


class Verifier:
    """Reads an answer in pieces, however they are cut. One for each choice of an answer."""

    def __init__(self, labels: Collection[str]) -> None:
        self._labels = frozenset(labels)
        self._held = ""
        self._released = 0  # code points
        self._found: list[Citation] = []

    def feed(self, text: str) -> str:
        """The text that may be shown now: all but what may be the beginning of a marker, at most six characters."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        for marker in _MARKER.finditer(text, 0, cut):
            label = marker[1] or marker[2]
            status: Literal["verified", "invented"] = "verified" if label in self._labels else "invented"
            start, end = (self._released + at for at in marker.span())
            self._found.append(Citation(label, start, end, status))
        self._held = text[cut:]
        self._released += cut
        return text[:cut]

    def finish(self) -> str:
        """What was held back, when the answer has ended."""
        held, self._held = self._held, ""
        self._released += len(held)
        return held

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Every marker so far, in order."""
        return tuple(self._found)

    @property
    def invented(self) -> tuple[str, ...]:
        """Labels that nobody admitted, each once, in order of first use."""
        return tuple(dict.fromkeys(citation.label for citation in self._found if citation.status == "invented"))


def url_citations(citations: Iterable[Citation], sources: Sequence[Source]) -> list[dict[str, Any]]:
    """One `url_citation` for each marker whose source has a web address, in the shape that client libraries read.

    No value is ever null: client libraries refuse the whole answer for one. A source without an http(s) address gives
    none; it stands in the context report only. Where a label stands for several documents, all their ids are given.
    """
    by_label = {source.label: source for source in sources}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": source.url,
                "title": source.title or source.id,
                "start_index": citation.start,
                "end_index": citation.end,
                "source_id": source.source_id or source.id,
                "label": citation.label,
                "status": citation.status,
                **({"document_ids": [source.id, *source.merged]} if source.merged else {}),
            },
        }
        for citation in citations
        if (source := by_label.get(citation.label)) and (source.url or "").lower().startswith(("http://", "https://"))
    ]
