"""The shapes a tool's result can have, and how each is shortened without breaking it.

Knows: JSON (arrays, objects, long strings inside them), JSON lines and several values in a row, CSV, Markdown tables,
plain text; where each may be cut, and where each has room for a notice that something was.
Does not know: tokens, or how much must go.

What stays, stays as it is written. An escape is never read and written anew: results were cleaned before, and
`\\u003c` would come back as a character that is not.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Raw, Struct, structs

from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode
from elbowroom.read.rawjson import decode, entries, sequence, utf8, views

NOTICE = "elbowroom_notice"  # the member that says what was cut, in JSON

_DEEPEST = 4  # levels of JSON below the outermost in which a cut is tried
_LONGEST = 400  # characters of a unit of text; what has no border before that is cut there
_SAMPLE = 20  # records that must be alike before a text is taken for CSV
_BORDER = re.compile(r"(?<=\n)|(?<=[.!?])(?=[ \t])|(?<=[。！？])")
_UNIT = re.compile(rf".{{1,{_LONGEST}}}", re.DOTALL)
# The same inside a JSON string, where no escape may be cut, and no pair of them that is one character.
_QUOTED_BORDER = re.compile(
    r"(?<=\\n)|(?<=[.!?])(?= |\\t)|(?<=[。！？])|(?<=\\u3002)|(?<=\\u[fF][fF]01)|(?<=\\u[fF][fF]1[fF])"
)
_QUOTED_UNIT = re.compile(
    r"(?:[^\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^u])"
    rf"{{1,{_LONGEST}}}"
)
_ESCAPE = len(r"\u0000")
_RULE = "-|: \t\r\n"  # what the line below a Markdown table's header consists of
_DELIMITERS = ",\t;|"


class Shape(Struct, frozen=True):
    """A text of units, any number of which may be kept: from the start, or from both ends."""

    head: str  # always stays
    units: Sequence[str]  # those that may be kept, as they would be sent
    tail: str  # always stays
    total: int  # units in all
    size: int  # of what the units are cut from, bytes
    write: Callable[[str], str]  # the words of a notice -> the notice as this shape holds it
    word: str = "rows"
    rows: int | None = None  # rows of the whole text
    counts: bool = False  # the units are those rows; else what stays of them is one
    both_ends: bool = False
    more: str = ""  # what ends the notice

    @property
    def most(self) -> int:
        """Units that may be kept: never all of them."""
        return min(len(self.units), self.total - 1)

    def order(self) -> list[str]:
        """The units that may be kept, those to be kept first first."""
        if not self.both_ends:
            return list(self.units[: self.most])
        inwards = zip(self.units, reversed(self.units), strict=True)
        return [unit for pair in inwards for unit in pair][: self.most]

    def notice(self, kept: int) -> str:
        """What is said with that many units kept."""
        shown = _size(self.order()[:kept])
        if self.both_ends:
            return self.write(f"{shown} of {self.size} bytes shown, the middle is left out{self.more}")
        return self.write(f"{kept} of {self.total} {self.word} shown, {shown} of {self.size} bytes{self.more}")

    def text(self, kept: int) -> str:
        """The text with that many units kept."""
        last = kept // 2 if self.both_ends else 0
        first = self.units[: kept - last]
        return "".join([self.head, *first, self.notice(kept), *self.units[len(self.units) - last :], self.tail])


class _Place(Struct, frozen=True):
    """Where in a text the cut is made, and what holds for all cuts of this text."""

    most: int  # rows
    window: int  # characters of plain text from each end
    before: str = ""
    after: str = ""
    rows: int | None = None  # rows of the whole text, where this is inside its first one
    depth: int = 0

    def inside(self, before: str, after: str, rows: int | None = None) -> _Place:
        """One level deeper."""
        return _Place(
            self.most, self.window, self.before + before, after + self.after, rows or self.rows, self.depth + 1
        )


def shapes(text: str, *, most: int, window: int, more: str = "") -> Iterator[Shape]:
    """The ways to shorten a text, the first to be tried first; the first one says how many rows it has.

    At most `most` rows are ever kept, and of plain text `window` characters from each end. `more` ends each notice.
    """
    for shape in _shapes(text, _Place(most, window)):
        yield structs.replace(shape, more=more) if more else shape


def _shapes(text: str, place: _Place) -> Iterator[Shape]:
    raw = utf8(text.strip())
    value = _open(raw)
    if value is not None:
        yield from _inside(value, len(raw), place)
        return
    lines = _lines(text)
    full = [line for line in lines if not line.isspace()]
    if full and _open(full[0].encode("utf-8", "surrogatepass")) is not None and all(line[0] in "{[" for line in full):
        yield from _json_lines(full, place)
        return
    values = sequence(text)
    if len(values) > 1:
        yield from _json_lines([value + "\n" for value in values], place)
        return
    yield from _table(lines, place)
    yield from _csv(lines, full, place)
    yield _prose(text, place, lambda words: f"\n[{NOTICE}: {words}]\n")


# --- JSON -------------------------------------------------------------------------------------------------------------

_Members: TypeAlias = tuple[tuple[bytes, bytes], ...]
_Elements: TypeAlias = list[bytes] | list[Raw]
_Value: TypeAlias = _Elements | _Members | str


def _open(raw: bytes) -> _Value | None:
    """An array's elements, an object's members, what stands between a string's quotes; None for all else."""
    try:
        if raw.startswith(b"["):
            return views(raw)
        if raw.startswith(b"{"):
            return entries(raw)
        if raw.startswith(b'"'):
            decode(raw)
            return raw[1:-1].decode()
    except InvalidRequest:
        pass  # it only begins like JSON
    return None


def _inside(value: _Value | None, size: int, place: _Place) -> Iterator[Shape]:
    if place.depth > _DEEPEST:
        return
    if isinstance(value, list):
        yield from _array(value, size, place)
    elif isinstance(value, tuple):
        yield from _object(value, size, place)
    elif value is not None:
        inside = place.inside('"', '"')
        yield _prose(value, inside, lambda words: _in_string(f"\n[{NOTICE}: {words}]\n"), quoted=True)


def _array(value: _Elements, size: int, place: _Place) -> Iterator[Shape]:
    """The first elements; else a part of the very first."""
    total = len(value)
    units = [bytes(row).decode() + ",\n" for row in value[: place.most]]
    outermost = place.rows is None
    rows = total if outermost else place.rows
    yield Shape(place.before + "[\n", units, "]" + place.after, total, size, _element, rows=rows, counts=outermost)
    if value:
        others = f",\n{_element(f'1 of {total} rows shown')}]" if total > 1 else "]"
        first = bytes(value[0])
        yield from _inside(_open(first), len(first), place.inside("[\n", others, total))


def _object(value: _Members, size: int, place: _Place) -> Iterator[Shape]:
    """A part of a list of too many rows, or of the longest member, all others kept; else its first members."""
    by_length = sorted(range(len(value)), key=lambda at: -len(value[at][1]))
    lists = {at: _open(value[at][1]) for at in by_length if value[at][1].startswith(b"[")}
    long = [at for at, rows in lists.items() if rows is not None and len(rows) > place.most]
    for at in dict.fromkeys([*long[:1], *by_length[:1]]):
        name, longest = value[at]
        left = "".join(_member(*one) + "," for one in value[:at])
        right = "".join("," + _member(*one) for one in value[at + 1 :])
        inside = place.inside("{" + left + _member(name, b""), right + "}")
        yield from _inside(lists[at] if at in lists else _open(longest), len(longest), inside)
    units = [_member(*one) + ",\n" for one in value[: place.most]]
    yield Shape(place.before + "{\n", units, "}" + place.after, len(value), size, _own_member, "members", place.rows)


def _json_lines(lines: list[str], place: _Place) -> Iterator[Shape]:
    """The first lines; else a part of the very first."""
    total = len(lines)
    yield Shape("", lines[: place.most], "", total, _size(lines), _element, rows=total, counts=True)
    first = lines[0].rstrip().encode()
    yield from _inside(_open(first), len(first), place.inside("", f"\n{_element(f'1 of {total} rows shown')}", total))


def _element(words: str) -> str:
    return encode({NOTICE: words}).decode() + "\n"


def _own_member(words: str) -> str:
    return _member(encode(NOTICE), encode(words)) + "\n"


def _member(name: bytes, value: bytes) -> str:
    return f"{name.decode()}:{value.decode()}"


def _in_string(text: str) -> str:
    return encode(text).decode()[1:-1]


# --- tables and text --------------------------------------------------------------------------------------------------


def _table(lines: list[str], place: _Place) -> Iterator[Shape]:
    """A Markdown table that is most of the text: its header and what stands around it stay."""
    for at, rule in enumerate(lines[1:], start=1):
        if "|" in rule and "-" in rule and not rule.strip(_RULE) and "|" in lines[at - 1]:
            break
    else:
        return
    end = next((row for row in range(at + 1, len(lines)) if "|" not in lines[row]), len(lines))
    rows = lines[at + 1 : end]
    size = _size(lines)
    if 2 * _size(rows) > size:
        head, tail = "".join(lines[: at + 1]), "".join(lines[end:])
        yield Shape(head, rows[: place.most], tail, len(rows), size, _line, rows=len(rows), counts=True)


def _csv(lines: list[str], full: list[str], place: _Place) -> Iterator[Shape]:
    """A header and at least two rows with as many fields each."""
    delimiter = max(_DELIMITERS, key=full[0].count) if full else ""
    if not delimiter or delimiter not in full[0]:
        return
    if any('"' in line for line in full):
        records, widths = _quoted_records(lines, delimiter)
    else:
        records, widths = full, {line.count(delimiter) for line in full[:_SAMPLE]}
    if len(records) > 2 and len(widths) == 1:
        rows = records[1:]
        kept = rows[: place.most]
        yield Shape(records[0], kept, "", len(rows), _size(lines), _line, rows=len(rows), counts=True)


def _quoted_records(lines: list[str], delimiter: str) -> tuple[list[str], set[int]]:
    """Records whose quoted fields may hold line breaks, and how many fields they have; none where it is no CSV."""
    reader = csv.reader(lines, delimiter=delimiter)
    records, widths = [], set()
    start = 0
    try:
        for row in reader:
            if row:
                records.append("".join(lines[start : reader.line_num]))
                widths.add(len(row))
            start = reader.line_num
    except csv.Error:
        return [], set()
    return records, widths


def _prose(text: str, place: _Place, notice: Callable[[str], str], *, quoted: bool = False) -> Shape:
    """Whole lines and sentences from both ends; of a text with JSON's escapes in it where it is `quoted`."""
    size, parted = _size([text]), _quoted_sentences if quoted else _sentences
    if len(text) <= 2 * place.window:
        units = parted(text)
        total = len(units)
    else:  # what the two windows cut in two belongs to the middle; as many units from the end as from the start
        head = parted(text[: place.window])[:-1]
        begin = len(text) - place.window
        if quoted:  # not between a backslash and what it escapes
            begin += (begin - len(text[:begin].rstrip("\\"))) % 2
        tail = parted(text[begin:])[1:]
        ends = min(len(head), len(tail))
        units = head[:ends] + tail[len(tail) - ends :]
        total = len(units) + 1
    return Shape(place.before, units, place.after, total, size, notice, rows=place.rows, both_ends=True)


def _sentences(text: str) -> list[str]:
    return [unit for piece in _BORDER.split(text) for unit in _UNIT.findall(piece)]


def _quoted_sentences(text: str) -> list[str]:
    """The same of what stands between a JSON string's quotes; an escape that is cut off at the end is left out."""
    at = text.rfind("\\", max(0, len(text) - _ESCAPE + 1))
    begins = at >= 0 and (at - len(text[:at].rstrip("\\"))) % 2 == 0  # and is not what another one stands before
    if begins and text[at + 1 : at + 2] in ("", "u"):
        text = text[:at]
    return [unit for piece in _QUOTED_BORDER.split(text) for unit in _QUOTED_UNIT.findall(piece)]


def _lines(text: str) -> list[str]:
    """The lines, each with its newline; the last one gets one."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")] if text else []


def _line(words: str) -> str:
    return f"[{NOTICE}: {words}]\n"


def _size(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
