r"""Where in a text something stands that the rules of some packs name.

Knows: the packs, and how to search in time that grows with the text alone, whatever the text says: RE2 has no
backtracking, and after a match that is none the search goes on behind its first character.
Does not know: deadlines (the service has them), requests, or what is done about what was found.

Full-width and similar forms are found like ASCII, and so is what JSON's escapes stand for (`\u002B`, as some write any
plus, `\/`): whoever reads the text reads them. A text has to be free of hidden characters before: a key with one in the
middle is none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import re2

from elbowroom.clean.forms import FOLDS
from elbowroom.clean.personal import PERSONAL
from elbowroom.clean.sanitise import sanitise
from elbowroom.clean.secrets import SECRETS, Rule
from elbowroom.needs import Finding

PACKS: dict[str, tuple[Rule, ...]] = {"secrets": SECRETS, "pii": PERSONAL}


# Full-width, mathematical and circled forms that stand for one character each.
_FOLDED = {
    ord(char): form
    for char, form in FOLDS.items()
    if len(form) == 1
    and any(first <= char <= last for first, last in ("\uff01\uff5e", "\U0001d400\U0001d7ff", "\u2460\u24ea"))
}
# What stands between groups of digits where a line must not end.
_SPACES = "".join(map(chr, (0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
_PLAIN = [*((space, " ") for space in _SPACES), *((hyphen, "-") for hyphen in "\u2010\u2011\u2012\u2013\u2212\uff0d")]
# Other punctuation alone, of which Chinese is full, is not worth folding a text.
_LETTERS = "\uff10-\uff19\uff1d\uff20-\uff3a\uff3f\uff41-\uff5a\u2460-\u24ea\U0001d400-\U0001d7ff"
_WIDE, _ANY = re.compile(f"[{_LETTERS}]"), re.compile(f"[{_LETTERS}{''.join(char for char, _ in _PLAIN)}]")
# Escapes that may stand in the middle of something: printable ASCII, what nobody sees, wide letters and digits. In JSON
# inside a string of JSON there are more backslashes.
_TELLING = re.compile(
    r"\\{1,8}(?:/|u(00(?:0[9ad]|[2-7][0-9a-f]|a[0d])|20(?:0[0-9a-f]|1[0-3]|2[a-f]|5f|6[0-9a-f])|2212|3000|feff"
    r"|fe0[0-9a-f]|ff(?:0d|1[0-9d]|[24][0-9a-f]|3[0-9af]|5[0-9a])))",
    re.IGNORECASE,
)
# Others are the end of a word, or its beginning: `\nAKIA` and `\uff0cAKIA` are none.
_OTHER, _SHORT = re.compile(r"(?<=\\)u[0-9a-fA-F]{4}"), ("\\n", "\\t", "\\r", "\\b", "\\f")
_OUTSIDE = "\x01"  # in place of each of their characters but the backslash; `secrets` knows it
_COLOUR = re.compile(r"\[[0-9;]{1,11}m")  # what is left of a terminal's: `[32mAKIA` is no word either
_TOGETHER = 6  # rules are looked for at once, where any of the pack matches
_PATIENCE = 256  # matches that are none, between two looks at the clock


class Overrun(Exception):
    """The search was to take no longer."""


class _Stretches(NamedTuple):
    """Of a text in which something was replaced: where each part begins, and where it did before."""

    here: list[int]
    there: list[int]


class _Group(NamedTuple):
    some: Any  # matches wherever one of them does
    rules: tuple[tuple[Rule, Any], ...]


class _Pack(NamedTuple):
    some: Any
    groups: tuple[_Group, ...]


def find(text: str, packs: Iterable[str], late: Callable[[], bool] = lambda: False) -> tuple[Finding, ...]:
    """By place, apart from each other: of two that overlap one is left that covers both, under the longer one's name.
    What overlaps something that an earlier pack names is left out: the `pw@host` of an address is no mail.

    `late` is asked now and then whether to give up: raises `Overrun`.
    """
    stretches: _Stretches | None = None
    if "\\" in text:
        if ("\\u" in text or "\\/" in text) and _TELLING.search(text):
            text, stretches = _read(text, late)
        if "\\u" in text:
            text = _OTHER.sub(5 * _OUTSIDE, text)
        for escape in _SHORT:
            text = text.replace(escape, "\\" + _OUTSIDE)
    text = _COLOUR.sub(lambda colour: len(colour[0]) * _OUTSIDE, text)
    if not text.isascii() and _ANY.search(text):
        for char, form in _PLAIN:
            text = text.replace(char, form)
        if _WIDE.search(text):
            text = text.translate(_FOLDED)
    data = text.encode("utf-8", "surrogatepass")
    found: list[Finding] = []
    for pack in packs:
        some, groups = _compiled(pack)
        if some.match(data) is not None:
            found = sorted([*found, *_beside(apart(_named(data, groups, late)), found)])
    told = _in_characters(data, tuple(found))
    if stretches is None:
        return told
    return tuple((_came(start, stretches), _came(end, stretches), name) for start, end, name in told)


def apart(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same places, those that overlap as one."""
    kept: list[Finding] = []
    longest = 0
    for start, end, name in sorted(found, key=lambda one: (one[0], -one[1])):
        if kept and start < kept[-1][1]:
            before = kept.pop()
            name = name if end - start > longest else before[2]  # noqa: PLW2901 -- both are one now
            longest = max(longest, end - start)
            kept.append((before[0], max(before[1], end), name))
        else:
            longest = end - start
            kept.append((start, end, name))
    return tuple(kept)


def _read(text: str, late: Callable[[], bool]) -> tuple[str, _Stretches]:
    """The text with its telling escapes read, and from where in `text` each stretch of it came."""
    pieces: list[str] = []
    here, there = list[int](), list[int]()
    length = done = 0
    for number, escape in enumerate(_TELLING.finditer(text), start=1):
        start, end = escape.span()
        char = "/" if escape[1] is None else sanitise(chr(int(escape[1], 16))).text
        pieces += text[done:start], char
        here += length, length + start - done
        there += done, start
        length, done = length + start - done + len(char), end
        if number % _PATIENCE == 0 and late():
            raise Overrun
    return "".join([*pieces, text[done:]]), _Stretches([*here, length], [*there, done])


def _came(place: int, stretches: _Stretches) -> int:
    """Where a place of the text that was read is in the text as it came."""
    at = bisect_right(stretches.here, place) - 1
    return stretches.there[at] + place - stretches.here[at]


def _beside(more: Iterable[Finding], found: Sequence[Finding]) -> Iterator[Finding]:
    """Those that overlap none of what was found."""
    ends = [end for _, end, _ in found]
    for one in more:
        after = bisect_right(ends, one[0])
        if after == len(found) or found[after][0] >= one[1]:
            yield one


@cache
def _compiled(pack: str) -> _Pack:
    options, whether = re2.Options(), re2.Options()
    whether.never_capture = True
    for some in (options, whether):
        some.max_mem = 64 << 20  # of all states of one expression; with too little of it, it is slow
        some.log_errors = False

    def of(rule: Rule) -> Any:
        return re2.compile(rule.pattern.encode(), options=options)

    def some_of(rules: Sequence[Rule]) -> Any:
        """Only tells whether, so it begins with the text: a search would go back to where the match began, and that
        way is new with every secret.
        """
        return re2.compile(rf"\C*?(?:{'|'.join(rule.pattern for rule in rules)})".encode(), options=whether)

    rules = PACKS[pack]
    groups = [rules[at : at + _TOGETHER] for at in range(0, len(rules), _TOGETHER)]
    return _Pack(
        some_of(rules), tuple(_Group(some_of(some), tuple((rule, of(rule)) for rule in some)) for some in groups)
    )


def _named(data: bytes, groups: Iterable[_Group], late: Callable[[], bool]) -> Iterator[Finding]:
    """In bytes."""
    for group in groups:
        if late():
            raise Overrun
        if group.some.match(data) is not None:
            for rule, pattern in group.rules:
                for start, end in _spans(data, rule, pattern, late):
                    yield start, end, rule.name


def _spans(data: bytes, rule: Rule, pattern: Any, late: Callable[[], bool]) -> Iterator[tuple[int, int]]:
    """In bytes."""
    at, none = 0, 0
    while (match := pattern.search(data, at)) is not None:
        start, end = match.span(rule.group)
        if rule.check is not None:
            said = data[start:end].decode("utf-8", "surrogatepass")
            end = start + len(said[: rule.check(said)].encode("utf-8", "surrogatepass"))
        if end > start:
            yield start, end
            at = end
            continue
        at = match.start() + 1
        none += 1
        if none % _PATIENCE == 0 and late():
            raise Overrun


def _in_characters(data: bytes, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    if data.isascii():
        return found
    told, at, characters = [], 0, 0
    for start, end, name in found:
        characters += len(data[at:start].decode("utf-8", "surrogatepass"))
        length = len(data[start:end].decode("utf-8", "surrogatepass"))
        told.append((characters, characters + length, name))
        at, characters = end, characters + length
    return tuple(told)
