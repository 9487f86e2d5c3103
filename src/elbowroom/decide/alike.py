"""How two texts are alike: the same, one within the other, or two versions of one text that say different things.

Knows: that whole sentences may be missing, added or moved, and that formatting may differ; that a word or a figure that
differs inside a sentence makes another version, not a copy. It looks only at texts that share beginnings and ends of
sentences, so many texts cost little more each than few.
Does not know: whose texts they are, which is the better one, or what is done about it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, chain
from typing import Literal, Protocol

from msgspec import Struct

from elbowroom.clean.terms import MARKS
from elbowroom.clean.text import Text

VERSION = 0.85  # so much of the shorter text's shingles in the other, and it is another version of it
CROWD = 8  # an anchor that so many further texts hold leads to no more of them, so the work stays linear
SHARED = 0.6  # of the anchors of the one that has fewer: less, and they are not even compared
SHORT = 8  # anchors: of so few, one changed word may take half
LIKELY = 3  # so many texts are compared with one, those that share most

# What a normal form loses although it says something: decimals, signs, bounds, currencies, vowel marks.
_FIGURE = re.compile(
    rf"(?:[<>≤≥≠±≈]=?\s?)?(?:(?<![\w)])[-−–])?[$€£¥]?[0-9]+(?:[.,:/]\s?[0-9]+)*(?:\s?[%‰°€])?|[a-z](?:\+\+|#)|[{MARKS}]+"
)
_THOUSANDS = re.compile(r",(?=[0-9]{3}(?![0-9]))")
_EXCEPTION = re.compile(
    r"\b(?:unless|except(?:ion|ions|ing|ed)?|excluding|other than|(?:does|do) not apply|not applicable)\b"
    r"|除外|例外|除非|不适用|不包括|除.{1,20}(?:之外|以外|外)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?。！？।؟۔]")
_MARKER = re.compile(r"\s*(?:[-*+•|#>]|\(?[0-9]{1,3}[.)、])")  # of an item, a row, a heading, a quoted line
_OPENING = re.compile(r"[\W_]*(\w)")
_KEY = 3  # characters
_BACK = 3  # stretches: so many of one text can be one of the other before the one that is looked for


class Likeness(Struct, frozen=True):
    """What a text is to an earlier one.

    `same`: neither has a sentence that the other has not. `within`: the other says all of it. `around`: it says all of
    the other, and more. `version`: most of it is the same, and a word inside a sentence is not.
    """

    kind: Literal["same", "within", "around", "version"]
    own: tuple[tuple[int, int], ...] = ()  # spans of the text that the other has not


class HasText(Protocol):
    @property
    def text(self) -> Text: ...


class Alike:
    """Texts so far, and which of them another is like. Lives as long as one list that only grows."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # anchor -> number of the first that has it
        self._more: dict[str, list[int]] = {}  # the further ones
        self._known = 0
        self._asked: Text | None = None
        self._fresh: frozenset[str] = frozenset()  # of its anchors, those that nobody had
        self._found: tuple[tuple[int, Likeness], ...] = ()

    def near(self, text: Text, kept: Sequence[HasText]) -> tuple[tuple[int, Likeness], ...]:
        """The numbers in `kept` of those that the text is like, ascending. Asked twice in a row, it is looked up."""
        if self._asked is text and self._known == len(kept):
            return self._found
        for at in range(self._known, len(kept)):
            self._add(at, kept[at].text)
        self._known, self._asked, self._found = len(kept), text, ()
        self._fresh = text.anchors.difference(self._first)
        if len(self._fresh) < len(text.anchors):
            self._found = tuple(self._compared(text, kept))
        return self._found

    def _add(self, at: int, text: Text) -> None:
        # Usually it is the one that was asked about.
        fresh = self._fresh if text is self._asked else text.anchors.difference(self._first)
        self._first.update(dict.fromkeys(fresh, at))
        self._asked = None
        for anchor in text.anchors - fresh:
            others = self._more.setdefault(anchor, [])
            if len(others) < CROWD:
                others.append(at)

    def _compared(self, text: Text, kept: Sequence[HasText]) -> Iterator[tuple[int, Likeness]]:
        common = text.anchors - self._fresh
        shared = Counter(map(self._first.__getitem__, common))
        shared.update(chain.from_iterable(map(self._more.__getitem__, common & self._more.keys())))
        most = sorted(shared, key=lambda at: (-shared[at], at))[:LIKELY]
        for at in sorted(most):
            other = kept[at].text
            least = min(len(text.anchors), len(other.anchors))
            if shared[at] >= least * (SHARED if least > SHORT else 0.5):
                like = likeness(text, other)
                if like is not None:
                    yield at, like


def likeness(text: Text, other: Text) -> Likeness | None:
    """What `text` is to `other`; None where they are different texts."""
    mine, theirs = _Joined(text), _Joined(other)
    own, others = _missing(mine, theirs), _missing(theirs, mine)
    spans = tuple(text.stretches[at][:2] for at in own)
    if own and others:
        alike = containment(text, other) >= VERSION and not _is_cut_from(text, other)
        return Likeness("version", spans) if alike else None
    figures, known = _figures(text), _figures(other)
    if not own and not others:
        return Likeness("same" if figures == known else "version")
    if own and known.keys() <= figures.keys() and _stand_apart(text, own):
        return Likeness("around", spans)
    if others and figures.keys() <= known.keys() and _stand_apart(other, others):
        return Likeness("within")
    return None if _is_cut_from(text, other) else Likeness("version", spans)


def _is_cut_from(text: Text, other: Text) -> bool:
    """Whether one is a piece of the other, cut out inside a sentence, as chunks are: it says nothing else.

    One that begins and ends as sentences do is no such piece: the other goes on where it has ended.
    """
    piece, whole = (text, other) if len(text.normal) <= len(other.normal) else (other, text)
    return piece.normal in whole.normal and (piece.clean[0].islower() or bool(_Joined(piece).tail))


def containment(text: Text, other: Text) -> float:
    """The share of the smaller one's shingles that the other has; 0 where one has none."""
    smaller = min(len(text.shingles), len(other.shingles))
    return len(text.shingles & other.shingles) / smaller if smaller else 0.0


def names_exception(text: Text, spans: Sequence[tuple[int, int]] | None = None) -> bool:
    """Whether these spans of the text, else all of it, say when something does not hold."""
    if spans is None:
        return _EXCEPTION.search(text.clean) is not None
    return any(_EXCEPTION.search(text.clean, *span) for span in spans)


def _figures(text: Text) -> Counter[str]:
    found = _FIGURE.findall(text.clean.lower().replace("−", "-").replace("–", "-"))
    return Counter(_THOUSANDS.sub("", "".join(figure.split())) for figure in found)


class _Joined:
    """The stretches of a text, their normal forms joined, and where in that each begins."""

    def __init__(self, text: Text) -> None:
        self.forms = [form for _, _, form in text.stretches]
        self.whole = "".join(self.forms)
        self.starts = [0, *accumulate(map(len, self.forms))]
        self.tail = self.forms[-1] if self.forms and text.stretches[-1][1] == len(text.clean) else ""

    def key(self, at: int) -> str:
        return self.whole[self.starts[at] : self.starts[at] + _KEY]


def _missing(mine: _Joined, theirs: _Joined) -> list[int]:
    """The stretches that the others have not, whether as they are or cut elsewhere."""
    there = set(theirs.forms)
    if there.issuperset(mine.forms):
        return []
    # A sentence without a full stop at the end of one text runs into whatever was moved behind it in the other.
    there |= {theirs.tail + form for form in theirs.forms if theirs.tail}
    run_on = {form for form in mine.forms if mine.tail and mine.tail + form in there}
    run_on |= {mine.tail} if run_on else set()
    lacking = [at for at, form in enumerate(mine.forms) if form not in there and form not in run_on]
    by_key: dict[str, list[int]] = {}
    for at in range(len(theirs.forms)):
        by_key.setdefault(theirs.key(at), []).append(at)
    found: set[int] = set()
    for at in lacking:
        for start in range(at, max(-1, at - _BACK), -1):
            if at not in found:
                for begin in by_key.get(mine.key(start), ())[:CROWD]:
                    found.update(range(start, start + _together(mine, start, theirs, begin)))
    return [at for at in lacking if at not in found]


def _together(mine: _Joined, first: int, theirs: _Joined, begin: int) -> int:
    """How many stretches from `first` on say what those of the others from `begin` on do, until both end at once."""
    here, there = mine.starts[first], theirs.starts[begin]
    last, until = first + 1, begin + 1
    while True:
        length, reach = mine.starts[last] - here, theirs.starts[until] - there
        least = min(length, reach)
        if mine.whole[here : here + least] != theirs.whole[there : there + least]:
            return 0
        if length == reach:
            return last - first
        last, until = last + (length < reach), until + (length > reach)
        if last == len(mine.starts) or until == len(theirs.starts):
            return 0


def _stand_apart(text: Text, added: Collection[int]) -> bool:
    """Whether each run of these stretches is whole sentences: nothing that a neighbour goes on into, or comes from."""
    stretches = text.stretches
    return all(
        _is_border(text.clean, stretches[second - 1][1], stretches[second][0])
        for second in range(1, len(stretches))
        if (second - 1 in added) != (second in added)
    )


def _is_border(clean: str, end: int, start: int) -> bool:
    """Whether a sentence ends at `end` and another begins at `start`: "in the U.S. only" is none, nor is "3.5"."""
    between = clean[end:start]
    if between.count("\n") > 1 or _MARKER.match(clean, start):
        return True
    opening = _OPENING.match(clean, start)[1]  # type: ignore[index]  # a stretch has a letter or digit
    if _STOP.search(between):
        return not opening.islower() and not (between == "." and clean.startswith(opening, start))
    return between == "\n" and opening.isupper()
