"""A tool's result, cleaned like any untrusted text, and still JSON where it was.

Knows: that inside a JSON string a backslash is written twice and a line end is an escape.
Does not know: which tool it came from, whether it will be cut, or what it says.
"""

from __future__ import annotations

from typing import NamedTuple

from elbowroom.clean.known import Known
from elbowroom.read.rawjson import is_json, sequence

_LINE_ENDS = "\x85\u2028\u2029"  # legal as they are in a JSON string, where a line feed is not


class CleanResult(NamedTuple):
    """A result after cleaning."""

    text: str
    removed: int  # hidden characters dropped, and control strings broken
    spans: tuple[tuple[int, int], ...]  # of the characters, code points of the text that came
    broken_spans: tuple[tuple[int, int], ...] = ()  # of the strings' first characters with what breaks them, in `text`


def clean_result(text: str, known: Known) -> CleanResult:
    """The text with nothing hidden or live in it. A known clean text costs one lookup.

    What has nothing to remove comes back as it is, white space and line ends included.
    """
    seen = known.text(text)
    if not seen.stripped and not seen.neutralised:
        return CleanResult(text, 0, ())
    safe = known.text(_with_escapes(text)).safe.marked(r"\\")
    if not _is_json(safe.text):
        safe = seen.safe
    return CleanResult(safe.text, safe.stripped + len(safe.broken_spans), seen.stripped_spans, safe.broken_spans)


def bare_result(text: str, known: Known) -> str:
    """The text with nothing hidden in it, and still JSON where it was: as it will read, control strings aside."""
    return known.text(_with_escapes(text)).bare if known.text(text).stripped else text


def _with_escapes(text: str) -> str:
    for end in _LINE_ENDS:
        if end in text:  # many times faster than replacing none
            text = text.replace(end, r"\n")
    return text


def _is_json(text: str) -> bool:
    """JSON, JSON on every line, or values one behind another, as of several parts."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return False
    return is_json(text) or all(is_json(line) for line in text.split("\n") if line.strip()) or bool(sequence(text))
