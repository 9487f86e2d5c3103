"""A text and what is known of it: everything that follows from the text alone, worked out once, when it is asked for.

Knows: the clean form of an untrusted text, and its sentences, terms and shingles.
Does not know: whose text it is, what it costs, what the question was.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from elbowroom.clean.harmless import Harmless, Spans, harmless, moved
from elbowroom.clean.neutralise import LIVE, Live, neutralise
from elbowroom.clean.sanitise import sanitise
from elbowroom.clean.sentences import Unit, units
from elbowroom.clean.terms import terms

_REST = re.compile(r"[\W_]+")
_ASCII_REST = bytes(code for code in range(128) if not chr(code).isalnum())
_SHINGLE = 6  # characters
# What ends a sentence in any script, and now and then ends none: `anchors` only want to end at the same places.
_STOPS = "\n.!?;。！？；…।؟۔"
_STOP = re.compile(f"[{_STOPS}]")
_STRETCH = re.compile(f"[^{_STOPS}]+")
_BETWEEN_STOPS = re.compile(rf"(?:[^\w{_STOPS}]|_)+")
_ASCII_BETWEEN_STOPS = bytes(code for code in _ASCII_REST if chr(code) not in _STOPS)
_ASCII_STOP = bytes(10 if chr(code) in _STOPS else code for code in range(256))
_ANCHOR, _TELLING = 16, 4  # characters: how long an anchor is, and of how short a stretch there is none
_FEW = 4  # stretches
_JOINER = "\u200d"
_SELF, _RECORD = 250, 100  # bytes: the object itself, and a tuple, string or number in it with its place in a table


class Text:
    """One text; nothing of it changes from outside. Spans are code points of `clean`.

    `clean` is what is sent: sanitised, neutralised, without white space around it. `stripped` counts the invisible
    characters that are gone, `neutralised` the control strings that were broken; `stripped_spans` says where in `raw`,
    `broken_spans` where in `clean`, the backslash included.
    """

    __slots__ = (
        "_anchors", "_broken_spans", "_clean", "_live", "_normal", "_raw", "_safe", "_sentence_terms", "_sentences",
        "_shingles", "_stretches", "_terms", "_units",
    )  # fmt: skip

    def __init__(self, raw: str, safe: Harmless, live: Live = LIVE) -> None:
        self._raw = raw
        self._live = live
        self._safe = safe
        self._clean = safe.text.strip()
        lead = len(safe.text) - len(safe.text.lstrip())
        self._broken_spans = moved(safe.broken_spans, -lead)
        self._anchors: frozenset[str] | None = None
        self._normal: str | None = None
        self._sentence_terms: tuple[Mapping[str, int], ...] | None = None
        self._sentences: tuple[tuple[int, int], ...] | None = None
        self._shingles: frozenset[str] | None = None
        self._stretches: tuple[tuple[int, int, str], ...] | None = None
        self._terms: Mapping[str, int] | None = None
        self._units: tuple[Unit, ...] | None = None

    @classmethod
    def of(cls, raw: str, live: Live = LIVE) -> Text:
        """Cleans `raw`. Known later by everything that can be asked of it."""
        return cls(raw, harmless(raw, live), live)

    def like(self, raw: str) -> Text:
        """Another text, cleaned of the same control strings."""
        return Text.of(raw, self._live)

    def line_of(self, raw: str) -> Line:
        """An attribute beside it, cleaned of the same control strings."""
        return line_of(raw, live=self._live)

    def __repr__(self) -> str:
        return f"Text({len(self._clean)} characters)"

    @property
    def raw(self) -> str:
        return self._raw

    @property
    def clean(self) -> str:
        return self._clean

    @property
    def safe(self) -> Harmless:
        """The clean text with the white space around it; the spans are its own."""
        return self._safe

    @property
    def bare(self) -> str:
        """The clean text with its control strings whole: what is searched for what must not leave."""
        return self._safe.marked("").text.strip() if self._broken_spans else self._clean

    @property
    def stripped(self) -> int:
        return self._safe.stripped

    @property
    def stripped_spans(self) -> Spans:
        return self._safe.stripped_spans

    @property
    def neutralised(self) -> int:
        return len(self._broken_spans)

    @property
    def broken_spans(self) -> Spans:
        return self._broken_spans

    @property
    def units(self) -> tuple[Unit, ...]:
        """Sentences, items, rows, blocks of code: what goes in whole or not at all, in order."""
        if self._units is None:
            self._units = units(self._clean)
        return self._units

    @property
    def sentences(self) -> tuple[tuple[int, int], ...]:
        """The spans of the units."""
        if self._sentences is None:
            self._sentences = tuple((unit.start, unit.end) for unit in self.units)
        return self._sentences

    @property
    def terms(self) -> Mapping[str, int]:
        """Term -> how often it occurs."""
        if self._terms is None:
            self._terms = MappingProxyType(terms(self._clean))
        return self._terms

    @property
    def sentence_terms(self) -> tuple[Mapping[str, int], ...]:
        """The terms of each unit."""
        if self._sentence_terms is None:
            self._sentence_terms = tuple(
                MappingProxyType(terms(self._clean[start:end])) for start, end in self.sentences
            )
        return self._sentence_terms

    @property
    def normal(self) -> str:
        """The clean text in lower case, nothing but letters and digits."""
        if self._normal is None:
            self._normal = normal(self._clean)
        return self._normal

    @property
    def stretches(self) -> tuple[tuple[int, int, str], ...]:
        """What stands between two full stops of any kind, as spans with their normal form, where there is one. A number
        or an abbreviation is cut, too: where texts differ in how their sentences were told apart, these do not.
        """
        if self._stretches is None:
            found = ((*one.span(), normal(one[0])) for one in _STRETCH.finditer(self._clean))
            self._stretches = tuple(one for one in found if one[2])
        return self._stretches

    @property
    def anchors(self) -> frozenset[str]:
        """How each stretch begins, if it is no initial or number; of few stretches, how they end, too. Texts that share
        sentences share these, wherever else they differ. Many times cheaper than stretches or shingles.
        """
        if self._anchors is None:
            forms = [form for form in _forms(self._clean) if len(form) >= _TELLING]
            ends = [one[-_ANCHOR:] for one in forms] if len(forms) <= _FEW else []
            self._anchors = frozenset([one[:_ANCHOR] for one in forms] + ends)
        return self._anchors

    @property
    def shingles(self) -> frozenset[str]:
        """All runs of six characters of the normal form; a shorter text is one shingle, an empty one has none."""
        if self._shingles is None:
            form = self.normal
            ends = range(_SHINGLE, max(len(form), _SHINGLE) + 1)
            self._shingles = frozenset(map(form.__getitem__, map(slice, range(len(ends)), ends))) - {""}
        return self._shingles

    @property
    def size(self) -> int:
        """Bytes that it takes in memory now, roughly: what was asked for is kept, and counts."""
        texts = {id(text): text for text in (self._raw, self._safe.text, self._clean)}  # they may be one and the same
        held = [*texts.values(), self._normal or "", *(form for _, _, form in self._stretches or ())]
        made = (
            self._units, self._sentences, self._stretches, self._anchors, self._shingles, self._terms,
            *(self._sentence_terms or ()),
        )  # fmt: skip
        records = sum(len(some) + 1 for some in made if some)
        return sum(map(sys.getsizeof, held)) + _RECORD * records + _SELF


def normal(text: str) -> str:
    """The text in lower case, nothing but letters and digits: what near copies are compared by."""
    if text.isascii():  # several times faster
        return text.lower().encode().translate(None, _ASCII_REST).decode()
    return _REST.sub("", text.lower())


def _forms(text: str) -> list[str]:
    """The normal forms of its stretches, all at once."""
    if text.isascii():
        return text.lower().encode().translate(_ASCII_STOP, _ASCII_BETWEEN_STOPS).decode().split("\n")
    return _STOP.split(_BETWEEN_STOPS.sub("", text.lower()))


class Line(NamedTuple):
    """An attribute's value as it is shown; `stripped_spans` are places in what came, `broken_spans` in `text`."""

    text: str
    stripped: int
    stripped_spans: Spans
    broken_spans: Spans


def clean_line(text: str, limit: int = 120, live: Live = LIVE) -> str:
    """An attribute's value: sanitised, on one line, neutralised, at most `limit` characters, no grapheme cut in two.

    Quotes and angle brackets are the envelope's business.
    """
    return line_of(text, limit, live).text


def line_of(text: str, limit: int = 120, live: Live = LIVE) -> Line:
    """The same, and what was done to it. Of what the limit cuts off, nothing is told to be broken."""
    seen = sanitise(text)
    safe = neutralise(" ".join(seen.text.split()), live)
    shown = _at_most(safe.text, limit)
    broken = ((start + at, end + at + 1) for at, (start, end) in enumerate(safe.spans))
    return Line(shown, seen.removed, seen.spans, tuple(span for span in broken if span[1] <= len(shown)))


def _at_most(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    cut = limit
    while cut and (_continues(line[cut]) or line[cut - 1] == _JOINER):
        cut -= 1
    return line[: cut or limit].rstrip()


def _continues(char: str) -> bool:
    """Whether the character belongs to the one before it: marks, joiners, skin tones, the tags of a flag."""
    return unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= char <= "\U0001f3ff"
