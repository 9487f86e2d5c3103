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
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from elbowroom.clean.control_strings import RULES, Rule
from elbowroom.clean.sanitise import Cleaned, sanitise

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
_FOLDABLE = re.compile(f"[{re.escape(''.join(chr(code) for code in _FOLDS if code < 0x10000))}\U00010000-\U0010ffff]")


class Live(NamedTuple):
    """What is control, compiled: who has it finds every live string of a text."""

    # For each first character: signs without any of which a text holds no such string, and a pattern that matches that
    # character alone. A pattern that begins with one plain character scans at memory's speed; all in one does not.
    parts: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]

    def places(self, text: str, folded: Callable[[str], str]) -> list[int]:
        """Behind which characters a backslash belongs, in the text as `folded` makes it."""
        found: list[int] = []
        form = None
        for signs, pattern in self.parts:
            if any(sign in text for sign in signs):
                form = folded(text) if form is None else form
                found += [match.end() for match in pattern.finditer(form)]
        return sorted(found)

    def search(self, text: str) -> bool:
        """Whether a text in ASCII, or a text's shadow, holds a live string."""
        return any(pattern.search(text) for _, pattern in self.parts)


def compile_rules(rules: Iterable[Rule]) -> Live:
    """All rules, one pattern for each first character."""
    by_first: dict[str, list[Rule]] = {}
    for rule in rules:
        by_first.setdefault(rule.first, []).append(rule)
    parts = []
    for first, some in by_first.items():
        signs = {rule.sign or first for rule in some}
        signs |= {chr(code) for code, form in _FOLDS.items() if form in signs}
        pattern = re.compile(f"{re.escape(first)}(?={'|'.join(rule.rest for rule in some)})")
        parts.append((tuple(sorted(signs)), pattern))
    return Live(tuple(parts))


LIVE = compile_rules(RULES)


def rules_of(tokens: Iterable[str]) -> tuple[Rule, ...]:
    """Rules for those control tokens of a tokenizer that `RULES` leave alive.

    No rule is made for what no sanitised text can hold, for white space and single characters, which are no control,
    and for a token with a backslash in it: no backslash can break that one.
    """
    shadows = {token: shadow(token) for token in tokens if token.strip() and sanitise(token).text == token}
    return tuple(
        Rule("tokenizer", form[0], re.escape(form[1:]), (token,))
        for token, form in shadows.items()
        if len(form) > 1 and "\\" not in form and not LIVE.search(form)
    )


def shadow(text: str) -> str:
    """The text with compatibility forms folded to ASCII: what rules are matched on."""
    return text if text.isascii() else _FOLDABLE.sub(_fold, text)


def neutralise(text: str, live: Live = LIVE, mark: str = "\\") -> Cleaned:
    """Breaks every control string of a sanitised text. Idempotent; `spans` are the characters broken after.

    `live` comes from `compile_rules`; `mark` is the backslash as the text has to write it.
    """
    places = live.places(text, shadow)
    if not places:
        return Cleaned(text, 0, ())
    if not text.isascii() and len(shadow(text)) != len(text):
        places = _origins(text, places)
    cuts = [0, *places, len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    return Cleaned(mark.join(pieces), len(places), tuple((place - 1, place) for place in places))


def _fold(match: re.Match[str]) -> str:
    char = match[0]
    return _FOLDS.get(ord(char), char)


def _origins(text: str, places: list[int]) -> list[int]:
    """Where in the text the characters ended that the shadow shows at `places`: some fold to two or three."""
    ends: list[int] = []
    length = 0
    wanted = iter(places)
    place = next(wanted)
    for index, char in enumerate(text, start=1):
        length += len(_FOLDS.get(ord(char), char))
        if length == place:
            ends.append(index)
            place = next(wanted, -1)
    return ends
