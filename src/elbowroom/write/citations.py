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
_LONGEST = 6  # characters of an unfinished marker

Invented = Literal["flag", "strip", "error"]


class Citation(Struct, frozen=True):
    """One marker in the answer; `start` and `end` in code points of the whole answer's text."""

    label: str
    start: int
    end: int
    status: Literal["verified", "invented"]


class Verifier:
    """Reads an answer in pieces, however they are cut. One for each choice of an answer.

    `invented` says what becomes of a marker that nobody admitted. `flag`: it stays. `strip`: it is left out, and where
    what stands around it would now be such a marker, its end is left out too. `error`: the text ends before it.
    """

    def __init__(self, labels: Collection[str], invented: Invented = "flag") -> None:
        self._labels = frozenset(labels)
        self._on_invented = invented
        self._text = ""  # the end of what was handed on, and what is held back
        self._ahead = 0  # how much of that was handed on
        self._begin = 0  # where in it a marker may begin
        self._released = 0  # code points handed on
        self._found: list[Citation] = []
        self._invented: dict[str, None] = {}
        self.refused = False  # an invented marker was an error: nothing more comes out

    def feed(self, text: str) -> str:
        """The text that may be shown now: all but what may be the beginning of a marker, at most six characters."""
        if self.refused:
            return ""
        text = self._text + text
        ahead, begin = self._ahead, self._begin
        shown = []
        while marker := _MARKER.search(text, begin):
            start, begin = marker.span()
            label = marker[1] or marker[2]
            if label not in self._labels:
                self._invented[label] = None
                if self._on_invented != "flag":
                    cut = max(start, ahead)
                    shown.append(text[ahead:cut])
                    self._released += cut - ahead
                    ahead = cut
                    if self._on_invented == "error":
                        self.refused = True
                        return "".join(shown)
                    # What stood before the marker now stands beside what comes behind it.
                    text = text[:ahead] + text[begin:]
                    before = _UNFINISHED.search(text, max(0, ahead - _LONGEST), ahead)
                    begin = before.start() if before else ahead
                    continue
            place = self._released - ahead
            status: Literal["verified", "invented"] = "verified" if label in self._labels else "invented"
            self._found.append(Citation(label, place + start, place + begin, status))
        unfinished = _UNFINISHED.search(text, begin)
        begin = unfinished.start() if unfinished else len(text)
        cut = max(ahead, begin)
        shown.append(text[ahead:cut])
        self._released += cut - ahead
        keep = max(0, min(begin, cut - _LONGEST))
        self._text, self._ahead, self._begin = text[keep:], cut - keep, begin - keep
        return "".join(shown)

    def finish(self) -> str:
        """What was held back, when the answer has ended."""
        held, self._text = self._text[self._ahead :], ""
        self._ahead = self._begin = 0
        self._released += len(held)
        return "" if self.refused else held

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Every marker that was handed on so far, in order."""
        return tuple(self._found)

    @property
    def invented(self) -> tuple[str, ...]:
        """Labels that nobody admitted, handed on or not, each once, in order of first use."""
        return tuple(self._invented)


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
