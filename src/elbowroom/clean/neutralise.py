r"""Control strings, broken by one backslash after their first character: `<\|im_start|>`, `[\INST]`, `<\/s>`.

Knows: how to find the strings of `control_strings` behind full-width and other compatibility forms, so that neither
the text nor its NFKC form holds a live one.
Does not know: which strings those are, or what else a text may say. Words that give orders are left as they are.

Why once is enough: a match contains no backslash, so whatever still matched afterwards would be a piece of the input
that no backslash was put into. But every piece that matched got one behind its first character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import re2

from elbowroom.clean.control_strings import RULES, Rule
from elbowroom.clean.sanitise import Cleaned, beyond_plain, sanitise

# Every block in which a character's NFKC form is plain ASCII.
_COMPATIBLE = (
    (0xA0, 0x17F), (0x1C7, 0x1F3), (0x2B0, 0x2E3), (0x37E, 0x37E), (0x1D2C, 0x1DBB), (0x1FEF, 0x1FEF),
    (0x2000, 0x24EA), (0x2A74, 0x2A76), (0x2C7C, 0x2C7D), (0x3000, 0x3000), (0x3250, 0x33FF), (0xA7F2, 0xA7F4),
    (0xFB00, 0xFB29), (0xFE10, 0xFE6B), (0xFF01, 0xFF5E), (0x107A5, 0x107A5), (0x1D400, 0x1D7FF),
    (0x1F100, 0x1F190), (0x1FBF0, 0x1FBF9),
)  # fmt: skip


_FOLDS = {
    code: form
    for first, last in _COMPATIBLE
    for code in range(first, last + 1)
    if (form := unicodedata.normalize("NFKC", chr(code))).isascii()
}

# Substituting what folds is many times faster than translating all. Above the first plane one range stands for all, as
# each further one would cost every character; what does not fold stays as it is.
_FEW = 24
_REACH = (
    128  # characters in which it is decided whether something matches; a tokenizer's longer token is broken by these
)
_BACK = 2  # characters before a first one that a rule looks at
_APART = 256  # characters a sign for which folding around it is cheaper than folding all
_FOLDING = re.escape("".join(chr(code) for code in _FOLDS if code < 0x10000)) + "\U00010000-\U0010ffff"
_FOLDABLE = re.compile(f"[{_FOLDING}]")
# What RE2 reads otherwise than Python does: more counts as a word's here, so that it finds no less.
_WORDS = r"[\w\x{80}-\x{10ffff}]"
_SPACES = r"\s\x0b\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"


class Sign(NamedTuple):
    """What a text has to hold where one part of the rules is to match."""

    text: str
    lead: int  # characters of it before the first one of a match
    pattern: re.Pattern[str]  # it, where the next character is none that rules out a match


class Part(NamedTuple):
    """All rules with one first character."""

    first: str
    signs: tuple[Sign, ...]
    pattern: re.Pattern[str]  # matches that character alone: so it scans at memory's speed, and all in one would not
    some: Any  # RE2: matches wherever `pattern` does, or more; many times faster where first characters are many


class Live(NamedTuple):
    """What is control, compiled: who has it finds every live string of a text."""

    parts: tuple[Part, ...]

    def places(self, text: str, beyond: str | None = None) -> list[int]:
        """Behind which characters of the text a backslash belongs, in order. `beyond`: as in `neutralise`."""
        form = text if text.isascii() else None
        data: bytes | None = None
        found: set[int] = set()
        for part in self.parts:
            signs = [sign for sign in part.signs if sign.text[0] in text and sign.text in text]
            if not signs:
                continue
            if form is None:
                few = len(text) // _APART
                every = (match.start() + sign.lead for sign in signs for match in sign.pattern.finditer(text))
                firsts = list(islice(every, few + 1))
                if len(firsts) <= few:
                    found.update(_near(text, part, firsts))
                    continue
                form = shadow(text, beyond)
            data = form.encode("utf-8", "replace") if data is None else data
            if part.some.search(data) is not None:
                found.update(_origins(text, form, [match.end() for match in part.pattern.finditer(form)]))
        return sorted(found)

    def search(self, text: str) -> bool:
        """Whether a text in ASCII, or a text's shadow, holds a live string."""
        return any(part.pattern.search(text) for part in self.parts)


def compile_rules(rules: Iterable[Rule]) -> Live:
    """All rules, one pattern for each first character."""
    by_first: dict[str, list[Rule]] = {}
    for rule in rules:
        by_first.setdefault(rule.first, []).append(rule)
    return Live(tuple(_part(first, some) for first, some in by_first.items()))


def _part(first: str, rules: Sequence[Rule]) -> Part:
    seconds = "".join(sorted(frozenset[str]().union(*(rule.seconds for rule in rules))))
    befores = sorted({rule.before for rule in rules} - {""})
    signs = [Sign(before, len(before), _before(before, re.escape(first))) for before in befores]
    if any(not rule.before for rule in rules):
        signs.append(Sign(first, 0, _before(first, seconds)))
        # In a form that stands for several characters the second one can be inside.
        signs += [
            Sign(char, 0, _before(char, seconds) if form == first else re.compile(re.escape(char)))
            for char, form in ((chr(code), form) for code, form in _FOLDS.items())
            if first in form
        ]
    rests = (f"(?<={re.escape(rule.before + first)}){rule.rest}" if rule.before else rule.rest for rule in rules)
    whole = (
        re.escape(rule.before + first) + rule.rest.replace(r"\w", _WORDS).replace(r"\s", _SPACES) for rule in rules
    )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20  # a tokenizer may add thousands
    some = re2.compile("|".join(f"(?:{one})" for one in whole).encode(), options=options)
    return Part(first, tuple(signs), re.compile(f"{re.escape(first)}(?={'|'.join(rests)})"), some)


def _before(sign: str, seconds: str) -> re.Pattern[str]:
    """The sign before one of these characters, or before any that the shadow shows otherwise."""
    return re.compile(f"{re.escape(sign)}(?=[{seconds}{_FOLDING}])")


LIVE = compile_rules(RULES)


def rules_of(tokens: Iterable[str]) -> tuple[Rule, ...]:
    """Rules for those control tokens of a tokenizer that `RULES` leave alive.

    No rule is made for what no sanitised text can hold, for white space and single characters, which are no control,
    and for a token with a backslash in it: no backslash can break that one.
    """
    shadows = {token: shadow(token) for token in tokens if token.strip() and sanitise(token).text == token}
    return tuple(
        Rule("tokenizer", form[0], re.escape(form[1:_REACH]), (token,))
        for token, form in shadows.items()
        if len(form) > 1 and "\\" not in form and not LIVE.search(form)
    )


def shadow(text: str, beyond: str | None = None) -> str:
    """The text with compatibility forms folded to ASCII: what rules are matched on."""
    if text.isascii():
        return text
    rest, at = beyond_plain(text) if beyond is None else beyond, 0
    rest = text if rest is None else rest
    for _ in range(_FEW):  # different ones, each many times, as a rule
        found = _FOLDABLE.search(rest, at)
        if found is None:
            return text
        char, at = found[0], found.start()
        rest = rest.replace(char, "")
        text = text.replace(char, _FOLDS.get(ord(char), char))
    return _FOLDABLE.sub(_fold, text)


def neutralise(text: str, live: Live = LIVE, mark: str = "\\", beyond: str | None = None) -> Cleaned:
    """Breaks every control string of a sanitised text. Idempotent; `spans` are the characters broken after.

    `live` comes from `compile_rules`; `mark` is the backslash as the text has to write it; `beyond` is
    `beyond_plain(text)`, where somebody has it.
    """
    places = live.places(text, beyond)
    if not places:
        return Cleaned(text, 0, ())
    cuts = [0, *places, len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    return Cleaned(mark.join(pieces), len(places), tuple((place - 1, place) for place in places))


def _fold(match: re.Match[str]) -> str:
    char = match[0]
    return _FOLDS.get(ord(char), char)


def _near(text: str, part: Part, firsts: Iterable[int]) -> Iterator[int]:
    """The places of one part, found by folding what stands around its first characters, where these are few."""
    for first in firsts:
        before, own, behind = (
            _FOLDABLE.sub(_fold, piece)
            for piece in (
                text[max(0, first - _BACK) : first],
                text[first : first + 1],
                text[first + 1 : first + _REACH],
            )
        )
        form = before + own + behind
        for offset, char in enumerate(own, start=len(before)):
            if char == part.first and part.pattern.match(form, offset):
                yield first + 1


def _origins(text: str, form: str, places: list[int]) -> list[int]:
    """Where in the text the characters end that its shadow shows at `places`: some fold to two or three."""
    if not places or len(form) == len(text):
        return places
    ends: list[int] = []
    length = done = 0
    for index, char in enumerate(text, start=1):
        length += len(_FOLDS.get(ord(char), char))
        while done < len(places) and places[done] <= length:
            ends.append(index)
            done += 1
    return ends
