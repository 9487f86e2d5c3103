"""An untrusted text made harmless: sanitised, then neutralised.

Knows: their order, and that each of them looks at the next characters only: so of a large text no more goes that way
than what is suspect with its surroundings.
Does not know: what is hidden (`sanitise`) or live (`neutralise`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from elbowroom.clean.neutralise import LIVE, REACH, Live, neutralise
from elbowroom.clean.sanitise import JOINERS, sanitise

_AROUND = REACH + 2  # what a rule looks at before its first character included
_PART = 1 << 20  # characters that are looked at together
_APART = 8192  # characters a suspect for which looking around each is cheaper than looking at all
Spans = tuple[tuple[int, int], ...]  # code points


class Harmless(NamedTuple):
    """A text after both."""

    text: str
    stripped: int  # characters dropped or replaced
    stripped_spans: Spans  # where, in the text that went in
    broken_spans: Spans  # in `text`: the control strings' first characters, each with what breaks it

    def marked(self, mark: str) -> Harmless:
        """The same with another mark in place of the backslash: as JSON has to write one, or nothing."""
        if not self.broken_spans:
            return self
        cuts = [0, *(at for start, end in self.broken_spans for at in (start + 1, end)), len(self.text)]
        text = mark.join(self.text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True))
        start, end = self.broken_spans[0]
        more = len(mark) - (end - start - 1)
        spans = tuple((start + at * more, end + (at + 1) * more) for at, (start, end) in enumerate(self.broken_spans))
        return Harmless(text, self.stripped, self.stripped_spans, spans)


def harmless(text: str, live: Live = LIVE) -> Harmless:
    """The text with nothing hidden or live in it; as it is where there was none."""
    pieces: list[str] = []
    stripped_spans: list[tuple[int, int]] = []
    broken_spans: list[tuple[int, int]] = []
    stripped = done = length = 0
    for start, end in _surroundings(text, _suspects(text, live)):
        one = _whole(text[start:end], live)
        length += start - done
        pieces += text[done:start], one.text
        stripped += one.stripped
        stripped_spans += moved(one.stripped_spans, start)
        broken_spans += moved(one.broken_spans, length)
        length += len(one.text)
        done = end
    pieces.append(text[done:])
    return Harmless("".join(pieces), stripped, tuple(stripped_spans), tuple(broken_spans))


def _whole(text: str, live: Live) -> Harmless:
    seen = sanitise(text)
    safe = neutralise(seen.text, live)
    broken = tuple((start + at, end + at + 1) for at, (start, end) in enumerate(safe.spans))
    return Harmless(safe.text, seen.removed, seen.spans, broken)


def _suspects(text: str, live: Live) -> Iterator[tuple[int, int]]:
    """Where something may have to be done, in order: of a part with many of them the whole part."""
    for begin in range(0, len(text), _PART):
        part = text[begin : begin + _PART + _AROUND]  # what begins in it ends in it, or is found as far as it goes
        found = live.suspects(part, len(part) // _APART)
        if found is None:
            yield begin, begin + _PART
        else:
            yield from ((begin + start, begin + end) for start, end in found if start < _PART)


def _surroundings(text: str, suspects: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What lies around them, in order and apart; the last may end behind the text."""
    begin = stop = 0
    for start, end in suspects:
        if start - 2 * _AROUND > stop:
            if stop:
                yield _between_runs(text, begin, stop)
            begin = start - _AROUND
        stop = max(stop, end + _AROUND)
    if stop:
        yield _between_runs(text, begin, stop)


def _between_runs(text: str, start: int, end: int) -> tuple[int, int]:
    """The span, and at both ends the visible character that a joiner there is judged by: one or two further on, as a
    longer run of joiners is suspect itself.
    """
    while start and text[start] in JOINERS:
        start -= 1
    while text[end - 1 : end] and text[end - 1] in JOINERS:
        end += 1
    return start, end


def moved(spans: Spans, by: int) -> Spans:
    """The spans that many characters further on."""
    return tuple((start + by, end + by) for start, end in spans) if by else spans
