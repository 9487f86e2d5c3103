"""Characters that a reader cannot see, and line ends that come in eight forms.

Knows: which characters go, which become a line feed, and where an invisible one is part of a letter or an emoji.
Does not know: words, tokens or control strings. It folds no look-alikes: what is seen is sent as it was seen (NFKC
would rewrite prose).

Every decision looks at a whole run of invisible characters and its two visible neighbours, and what is kept of a run
would be kept again, so the function is idempotent.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import NamedTuple

from elbowroom.clean.forms import re2_of


class Cleaned(NamedTuple):
    """A text after one step of cleaning."""

    text: str
    removed: int  # characters dropped or replaced (sanitise), control strings broken (neutralise)
    spans: tuple[tuple[int, int], ...]  # where: code-point ranges of the text that went in


_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"  # what becomes a line feed, and `\r\n`
# Unicode's Default_Ignorable_Code_Point (16.0), the interlinear annotation controls, the noncharacters, and the C0/C1
# controls that are neither TAB nor a line end; the Basic Multilingual Plane first, then what lies above. Apart from the
# others: those three that are part of an emoji or a letter as a rule.
_VS16, _ZWNJ, _ZWJ = "\ufe0f", "\u200c", "\u200d"
JOINERS = _VS16 + _ZWNJ + _ZWJ
_OTHERS = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(chr(plane << 16 | end) for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))
)
_HIDDEN = _OTHERS + JOINERS
_SOME_HIDDEN = re2_of(f"[{_HIDDEN}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_ASCII = bytes([9, 10, *range(32, 127)])
# Characters of which a text that holds none comes back as it is, half characters and `misplaced` joiners apart.
SUSPECT = _LINE_ENDS + _OTHERS

# Unicode's Extended_Pictographic, its unassigned reserves included, plus the five skin tones. Where most emoji are
# stands first of what lies above the first plane, where ranges are tried one by one.
_PICTURES = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf\u23e9-\u23f3"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705"
    "\u2708-\u2712\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757"
    "\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d"
    "\u3297\u3299\U0001f249-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff\U0001f90c-\U0001f93a"
    "\U0001f93c-\U0001f945\U0001f947-\U0001faff\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f"
    "\U0001f16c-\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ad-\U0001f1e5"
    "\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f774-\U0001f77f"
    "\U0001f7d5-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f"
    "\U0001f888-\U0001f88f\U0001f8ae-\U0001f8ff\U0001fc00-\U0001fffd]"
)
_PICTURE = re.compile(_PICTURES)
_KEYCAP_BASES = frozenset("0123456789#*")
_KEYCAP = "\u20e3"
_BLACK_FLAG = "\U0001f3f4"
# The three tag sequences that are recommended for interchange: England, Scotland, Wales.
_FLAG_TAGS = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f" for region in ("gbeng", "gbsct", "gbwls")
)
_KEPT = frozenset("".join(_FLAG_TAGS) + JOINERS)  # if at all
# Letters and vowel signs of Arabic, Syriac and the Indic scripts: a joiner between two of them changes the spelling.
_JOINING = frozenset(
    chr(code)
    for block in (range(0x600, 0x780), range(0x860, 0x900), range(0x900, 0xE00))
    for code in block
    if unicodedata.category(chr(code))[0] in "LM"
)
# As ranges: letters one by one take long to compile.
_FIRST = sorted(letter for letter in _JOINING if chr(ord(letter) - 1) not in _JOINING)
_LAST = sorted(letter for letter in _JOINING if chr(ord(letter) + 1) not in _JOINING)
_LETTERS = f"[{''.join(f'{first}-{last}' for first, last in zip(_FIRST, _LAST, strict=True))}]"

# How a joiner, just read, stands where `_visible_part` keeps it: in an emoji or a keycap, between letters.
_IN_PLACE = {
    _VS16: f"(?<={_PICTURES}{_VS16})|(?<=[0-9#*]{_VS16}){_KEYCAP}",
    _ZWNJ: f"(?<={_LETTERS}{_ZWNJ}){_LETTERS}",
    _ZWJ: f"(?<={_PICTURES}{_ZWJ}){_PICTURES}|(?<={_PICTURES}{_VS16}{_ZWJ}){_PICTURES}|(?<={_LETTERS}{_ZWJ}){_LETTERS}",
}
_MISPLACED = {joiner: re.compile(f"{joiner}(?!{around})") for joiner, around in _IN_PLACE.items()}
# All hidden characters in a row, unless they are joiners in their place. Written as what is not visible: of the ranges
# above the first plane, tried one by one, each visible character has its own among the first few.
_BORDERS = sorted(
    (first or alone, last or alone) for first, last, alone in re.findall("(.)-(.)|(.)", _HIDDEN, re.DOTALL)
)
_VISIBLE = "".join(
    f"{chr(ord(before) + 1)}-{chr(ord(after) - 1)}"
    for (_, before), (after, _) in pairwise(_BORDERS)
    if ord(after) - ord(before) > 1
)
_RUN = re.compile(f"[^{_VISIBLE}][^{_VISIBLE}]*+(?!{'|'.join(_IN_PLACE.values())})")


def plain(data: bytes) -> bool:
    """Whether a text in UTF-8 is ASCII without anything to sanitise."""
    return data.isascii() and not data.translate(None, _PLAIN_ASCII)


def misplaced(text: str) -> list[tuple[int, int]]:
    """Where joiners stand that are no part of an emoji or a letter."""
    return [one.span() for char, where in _MISPLACED.items() if char in text for one in where.finditer(text)]


def sanitise(text: str) -> Cleaned:
    """Drops what cannot be seen, and gives every line end one form. Idempotent; plain prose comes back as it is.

    Line ends are not counted as removed, lone surrogates (which become U+FFFD) are.
    """
    spans: list[tuple[int, int]] = []
    try:
        data = text.encode()
    except UnicodeEncodeError:
        spans = [match.span() for match in _SURROGATE.finditer(text)]
        text = _SURROGATE.sub("\ufffd", text)
        data = text.encode()
    if plain(data):
        return Cleaned(text, 0, ())
    removed = len(spans)
    pieces: list[str] = []
    done = 0
    for found in _RUN.finditer(text) if _SOME_HIDDEN.search(data) else ():
        run, (start, end) = found[0], found.span()
        kept = _visible_part(text[start - 1 : start], run, text[end : end + 1])
        if kept != run:
            pieces += text[done:start], kept
            spans.append((start, end))
            removed += len(run) - len(kept)
            done = end
    clean = "".join([*pieces, text[done:]])
    for end in ("\r\n", *_LINE_ENDS):
        clean = clean.replace(end, "\n")
    return Cleaned(clean, removed, tuple(sorted(spans)))


def _visible_part(before: str, run: str, after: str) -> str:
    """What a run of hidden characters contributes to the two visible ones around it; often nothing."""
    if _KEPT.isdisjoint(run):
        return ""
    if before == _BLACK_FLAG:
        for tags in _FLAG_TAGS:
            if run.startswith(tags):
                return tags
    kept = ""
    picture = before and _PICTURE.match(before)
    if _VS16 in run and (picture or (before in _KEYCAP_BASES and after == _KEYCAP)):
        kept = _VS16
    if _ZWJ in run and picture and after and _PICTURE.match(after):
        kept += _ZWJ
    elif before in _JOINING and after in _JOINING:
        kept = next((char for char in run if char in (_ZWNJ, _ZWJ)), "")
    return kept
