"""Characters whose compatibility form is ASCII: full-width, mathematical, circled ones, ligatures.

Knows: which those are, what a text looks like with all of them folded, and how a rule that is written for the folded
text is asked of the text itself.
Does not know: what the rules look for (`control_strings`). No text is changed: a shadow is to be searched, not sent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import re2

# Every block in which a character's NFKC form is plain ASCII.
_COMPATIBLE = (
    (0xA0, 0x17F), (0x1C7, 0x1F3), (0x2B0, 0x2E3), (0x37E, 0x37E), (0x1D2C, 0x1DBB), (0x1FEF, 0x1FEF),
    (0x2000, 0x24EA), (0x2A74, 0x2A76), (0x2C7C, 0x2C7D), (0x3000, 0x3000), (0x3250, 0x33FF), (0xA7F2, 0xA7F4),
    (0xFB00, 0xFB29), (0xFE10, 0xFE6B), (0xFF01, 0xFF5E), (0x107A5, 0x107A5), (0x1D400, 0x1D7FF),
    (0x1F100, 0x1F190), (0x1FBF0, 0x1FBF9),
)  # fmt: skip

FOLDS = {
    char: form
    for first, last in _COMPATIBLE
    for char in map(chr, range(first, last + 1))
    if (form := unicodedata.normalize("NFKC", char)).isascii()
}


def _behind(*, several: bool) -> dict[str, str]:
    """For each character of ASCII the forms that it has alone, or `several` characters together."""
    found: dict[str, str] = {}
    for char, form in FOLDS.items():
        if (len(form) > 1) == several:
            for one in dict.fromkeys(form):
                found[one] = found.get(one, "") + char
    return found


_FORMS, _LONG = _behind(several=False), _behind(several=True)
_FEW = 24  # different ones, each many times, as a rule: replacing one after another is many times faster
# Above the first plane one range stands for all: each further one would cost every character.
_ANY = re.compile(f"[{re.escape(''.join(char for char in FOLDS if char < chr(0x10000)))}\U00010000-\U0010ffff]")

# A piece of a rule: an operator, or what stands for one character.
_OPERATORS = "(|?{)*+"
_PIECE = re.compile(r"\(\?:|\{\d+,\d+\}|[()|?*+]|\[(?:\\.|[^\]\\])+\]|\\.|.", re.DOTALL)
_ASCII = [chr(code) for code in range(128)]
# RE2 knows ASCII alone by these: more counts as a word's here, so that it finds no less than Python does.
_CLASSES = {
    r"\w": r"\w\x{80}-\x{10ffff}",
    r"\s": r"\s\x0b\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}",
}


def re2_of(pattern: str) -> Any:
    """The expression compiled by RE2, for UTF-8: linear time, and one pass however many alternatives there are."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20  # a tokenizer may add thousands
    return re2.compile(pattern.encode(), options=options)


_FOLDABLE = re2_of("[" + "".join(FOLDS) + "]")


def shadow(text: str) -> str:
    """The text with compatibility forms folded to ASCII: what rules are matched on."""
    return text if text.isascii() else shadow_of(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def shadow_of(data: bytes) -> bytes:
    """The same of a text in UTF-8."""
    at = 0
    for _ in range(_FEW):
        found = _FOLDABLE.search(data, at)
        if found is None:
            return data
        char, at = found.group(), found.start()
        data = data.replace(char, FOLDS[char.decode()].encode())
    return _ANY.sub(_fold, data.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")


def folded(rules: Iterable[str]) -> str:
    """An expression for RE2 that matches in a shadow wherever one of the rules does, or more."""
    return "|".join("".join(map(_wide, _PIECE.findall(rule))) for rule in rules)


def unfolded(rules: Iterable[str]) -> str:
    """An expression for RE2 that matches in a text, as it is, wherever one of the rules does in its shadow, or more."""
    return "|".join(way for rule in rules for way in _ways(_PIECE.findall(rule)))


def _ways(rule: Sequence[str]) -> Iterator[str]:
    """The rule with each character in any form; and as far as the first form of several characters, if the rule asks
    for one of them: what follows it is anybody's guess. (Where it only excludes some, such a form passes as one.)
    """
    first, *others = rule
    pieces = [piece for piece in dict.fromkeys(others) if piece[0] not in _OPERATORS]
    yield "".join(_wide(piece, _of(_FORMS, piece)) for piece in rule)
    if long := "".join(_of(_LONG, piece) for piece in pieces):
        between = "|".join(_wide(piece, _of(_FORMS, piece)) for piece in pieces)
        yield f"{_wide(first, _of(_FORMS, first))}(?:{between})*?[{long}]"
    if long := _of(_LONG, first):
        yield f"[{long}]"


def _fold(match: re.Match[str]) -> str:
    return FOLDS.get(match[0], match[0])


@cache
def _named(piece: str) -> str:
    """The characters of ASCII that a piece asks for. One that excludes some asks for none."""
    if piece[0] in _OPERATORS or piece.startswith("[^"):
        return ""
    return "".join(filter(re.compile(piece).fullmatch, _ASCII))


def _of(forms: Mapping[str, str], piece: str) -> str:
    return "".join(forms.get(one, "") for one in _named(piece))


def _wide(piece: str, forms: str = "") -> str:
    """The piece as RE2 reads it, and these characters with it."""
    if piece[0] in _OPERATORS or piece.startswith("[^"):
        return piece
    inside = piece[1:-1] if piece[0] == "[" else piece
    for short, full in _CLASSES.items():
        inside = inside.replace(short, full)
    return f"[{inside}{forms}]"
