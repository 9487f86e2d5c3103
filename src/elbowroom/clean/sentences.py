"""Where the units of a text begin and end: sentences, list items, table rows, fenced code.

Knows: lines first, because a heading, a row or an item ends at its line's end whatever it ends with; then sentences
inside what is prose.
Does not know: which units a question needs, or what they cost. A unit is never cut: who has no room for one goes
without it.

Abbreviations, initials and decimals are `sentencex`'s business. It is handed a copy of the same length in which
spaces are plain and quotes straight: on other spaces version 1.0 panics (a byte offset inside a character), on
unclosed curly quotes it takes quadratic time, and both can come from a document. Texts of Han and kana need it only
where a Western full stop occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import sentencex  # type: ignore[import-untyped]


class Unit(NamedTuple):
    """One piece that goes in whole or not at all: code points `start` to `end`, no white space around it."""

    start: int
    end: int
    kind: str  # "prose", "heading", "item", "header" (of a table), "row" or "code"
    header: int | None = None  # for a row: the position of its table's header among the units


class _Line(NamedTuple):
    start: int
    end: int
    text: str  # stripped; `start` and `end` are its own


_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_ITEM = re.compile(
    r"(?:(?:[-*+•·‣◦▪]|[0-9]{1,3}[.)、．]|[(（][0-9]{1,3}[)）]|[a-zA-Z][.)])\s+|(?:[0-9]{1,3}、|[•·‣◦▪])\s*)(?=\S)"
)
_HEADING = re.compile(r"#{1,6}\s")
_RULE = frozenset("|-: \t")
# A full stop of Han, kana, Devanagari or Arabic and what closes with it; but a sentence that ends inside quotes goes on
# with a letter or a comma behind them: “可以吗？”他问。
_WIDE_STOP = re.compile(
    r"[。！？｡।॥۔؟][。！？｡।॥۔؟!?….]*+(?:[”’」』\"')】》〉）]*+(?<![”’」』\"'])|[”’」』\"')】》〉）]*+(?![\w,，、]))"
)
_WESTERN_STOP = re.compile(r"[.!?…]\W{0,8}?\s")
_UNUSUAL_SPACE = re.compile(r"[^\S ]")
_DOUBLE_QUOTE = re.compile("[«»“”„‟《》「」『』]")
_SINGLE_QUOTE = re.compile("[‘’‚‛‹›]")
_SPACE = re.compile(r"\s*")
# A sentence goes on in the next line if this line is long and does not end like one, or ends with a comma.
_WRAPPED = 50
_MOST_LINES = 20


def units(text: str) -> tuple[Unit, ...]:
    """The units of a cleaned text, in order, apart; everything outside them is white space. Linear time."""
    found: list[Unit] = []
    lines = list(_lines(text))
    fences = _fences(lines)
    header: int | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        last = at
        if at in fences:
            last = fences[at]
            found.append(Unit(line.start, lines[last].end, "code"))
        elif not line.text:
            header = None
        elif "|" in line.text and _is_rule(lines, at + 1):
            last = at + 1
            header = len(found)
            found.append(Unit(line.start, lines[last].end, "header"))
        elif "|" in line.text and (header is not None or (line.text[0] == "|" == line.text[-1] and len(line.text) > 1)):
            found.append(Unit(line.start, line.end, "row", header))
        elif _HEADING.match(line.text):
            header = None
            found.append(Unit(line.start, line.end, "heading"))
        else:
            header = None
            item = _ITEM.match(line.text)
            last = _paragraph(lines, at)
            begin = line.start + (item.end() if item else 0)
            spans = list(_sentences(text, begin, lines[last].end))
            spans[0] = (line.start, spans[0][1])  # the marker belongs to the first sentence
            found += [Unit(start, end, "item" if item else "prose") for start, end in spans]
        at = last + 1
    return tuple(found)


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        stripped = line.strip()
        begin = start + len(line) - len(line.lstrip())
        yield _Line(begin, begin + len(stripped), stripped)
        start += len(line) + 1


def _fences(lines: list[_Line]) -> dict[int, int]:
    """Opening line -> closing line of each fenced block. A fence that nothing closes is no fence."""
    pairs: dict[int, int] = {}
    opened: tuple[int, str] | None = None
    for at, line in enumerate(lines):
        if line.text[:3] in ("```", "~~~") and (fence := _FENCE.fullmatch(line.text)):
            marker, info = fence.groups()
            if opened is None:
                opened = (at, marker)
            elif not info.strip() and marker.startswith(opened[1]):
                pairs[opened[0]] = at
                opened = None
    return pairs


def _is_rule(lines: list[_Line], at: int) -> bool:
    """Whether this line is the rule between a table's header and its rows."""
    return at < len(lines) and "-" in lines[at].text and "|" in lines[at].text and _RULE.issuperset(lines[at].text)


def _paragraph(lines: list[_Line], at: int) -> int:
    """The last of the lines that belong to the same sentences as line `at`."""
    last = at
    while last + 1 < min(len(lines), at + _MOST_LINES) and _goes_on(lines[last].text, lines[last + 1].text):
        last += 1
    return last


def _goes_on(line: str, after: str) -> bool:
    """Whether the line break between the two is only where a column ended."""
    if not after[:1].isalnum() or "|" in after or _ITEM.match(after):
        return False
    return line[-1] in ",，、" or (len(line) >= _WRAPPED and (line[-1].isalnum() or line[-1] in "-–;；"))


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences in `text[start:end]`, which begins and ends with something visible."""
    for begin, stop in _wide_sentences(text, start, end):
        if not _WESTERN_STOP.search(text, begin, stop):
            yield begin, stop
            continue
        at = begin
        piece = _UNUSUAL_SPACE.sub(" ", text[begin:stop])
        if not piece.isascii():
            piece = _SINGLE_QUOTE.sub("'", _DOUBLE_QUOTE.sub('"', piece))
        for sentence in sentencex.segment("en", piece):
            yield at + len(sentence) - len(sentence.lstrip()), at + len(sentence.rstrip())
            at += len(sentence)


def _wide_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for stop in _WIDE_STOP.finditer(text, start, end):
        yield at, stop.end()
        at = _SPACE.match(text, stop.end(), end).end()  # type: ignore[union-attr]  # it matches everywhere
    if at < end:
        yield at, end
