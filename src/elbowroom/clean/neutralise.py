r"""Control strings, broken by one backslash after their first character: `<\|im_start|>`, `[\INST]`, `<\/s>`.

Knows: how to find the strings of `control_strings` behind full-width and other compatibility forms, so that neither
the text nor its NFKC form holds a live one.
Does not know: which strings those are, or what else a text may say. Words that give orders are left as they are.

Why once is enough: a match contains no backslash, so whatever still matched afterwards would be a piece of the input
that no backslash was put into. But every piece that matched got one behind its first character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from elbowroom.clean.control_strings import RULES, Rule
from elbowroom.clean.forms import FOLDS, folded, re2_of, shadow, shadow_of, unfolded
from elbowroom.clean.sanitise import SUSPECT, Cleaned, misplaced, plain, sanitise

REACH = 128  # characters in which it is decided whether something matches; a longer token is broken by these
_MOST = 6000  # characters of all rules together, of which RE2 remembers all states that texts bring it to


class Part(NamedTuple):
    """All rules with one first character."""

    first: str
    pattern: re.Pattern[str]  # matches that character alone: so it scans at memory's speed, and all in one would not
    some: Any  # RE2: matches wherever `pattern` does, or more; many times faster where first characters are many


class Live:
    """What is control, compiled: who has it finds every live string of a text."""

    def __init__(self, parts: tuple[Part, ...], rules: tuple[str, ...]) -> None:
        self.parts = parts
        self._rules = rules

    @cached_property
    def _suspect(self) -> Any:
        """RE2: in one pass over a text, as it is, where something may have to be done about it. None of more rules than
        it is fast with: all forms of their characters are many.
        """
        if sum(map(len, self._rules)) > _MOST:
            return None
        return re2_of(f"[{SUSPECT}]|{unfolded(self._rules)}")

    def suspects(self, text: str, most: int) -> list[tuple[int, int]] | None:
        """Where a text may have something to sanitise or to break, as it came: spans in order, everything else is
        harmless. None where that cannot be said, or not fast: of half characters, of more spans than `most`.

        What needs its surroundings to be harmless, a joiner, is suspect at either end of the text.
        """
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return None
        if plain(data) and not self._candidates(data):
            return []
        if self._suspect is None:
            return None
        found = misplaced(text)
        place = 0
        for match in self._suspect.finditer(data):
            if len(found) >= most:
                return None
            suspect = match.group().decode()
            start = text.index(suspect, place)  # the same before that would have matched as well
            place = start + len(suspect)
            found.append((start, place))
        return sorted(found) if len(found) <= most else None

    def places(self, text: str) -> list[int]:
        """Behind which characters of a sanitised text a backslash belongs, in order."""
        data = text.encode("utf-8", "replace")
        data = data if text.isascii() else shadow_of(data)
        parts = self._candidates(data)
        if not parts:
            return []
        form = data.decode()
        return _origins(text, form, sorted(match.end() for part in parts for match in part.pattern.finditer(form)))

    def _candidates(self, data: bytes) -> list[Part]:
        """The parts that may match in a text in ASCII, or in a text's shadow."""
        parts = [part for part in self.parts if part.first.isascii()] if data.isascii() else self.parts
        return [part for part in parts if part.first.encode() in data and part.some.search(data) is not None]

    def search(self, text: str) -> bool:
        """Whether a text in ASCII, or a text's shadow, holds a live string."""
        return any(part.pattern.search(text) for part in self.parts)


def compile_rules(rules: Iterable[Rule]) -> Live:
    """All rules, one pattern for each first character."""
    by_first: dict[str, list[Rule]] = {}
    for rule in rules:
        by_first.setdefault(rule.first, []).append(rule)
    whole = tuple(_whole(rule) for some in by_first.values() for rule in some)
    return Live(tuple(_part(first, some) for first, some in by_first.items()), whole)


def _part(first: str, rules: Sequence[Rule]) -> Part:
    rests = (f"(?<={re.escape(rule.before + first)}){rule.rest}" if rule.before else rule.rest for rule in rules)
    pattern = re.compile(f"{re.escape(first)}(?={'|'.join(rests)})")
    return Part(first, pattern, re2_of(folded(map(_whole, rules))))


def _whole(rule: Rule) -> str:
    return f"{re.escape(rule.before + rule.first)}(?:{rule.rest})"


LIVE = compile_rules(RULES)


def rules_of(tokens: Iterable[str]) -> tuple[Rule, ...]:
    """Rules for those control tokens of a tokenizer that `RULES` leave alive.

    No rule is made for what no sanitised text can hold, for white space and single characters, which are no control,
    and for a token with a backslash in it: no backslash can break that one. A line end around a token is not asked for:
    a tag's line may bring it.
    """
    shadows = {token: shadow(token.strip("\n")) for token in tokens if token.strip() and sanitise(token).text == token}
    return tuple(
        Rule("tokenizer", form[0], re.escape(form[1:REACH]), (token,))
        for token, form in shadows.items()
        if len(form) > 1 and "\\" not in form and not LIVE.search(form)
    )


def neutralise(text: str, live: Live = LIVE) -> Cleaned:
    """Breaks every control string of a sanitised text. Idempotent; `spans` are the characters broken after.

    `live` comes from `compile_rules`.
    """
    places = live.places(text)
    if not places:
        return Cleaned(text, 0, ())
    cuts = [0, *places, len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    return Cleaned("\\".join(pieces), len(places), tuple((place - 1, place) for place in places))


def _origins(text: str, form: str, places: list[int]) -> list[int]:
    """Where in the text the characters end that its shadow shows at `places`: some fold to two or three."""
    if not places or len(form) == len(text):
        return places
    ends = list(accumulate(len(FOLDS.get(char, char)) for char in text))
    return sorted({bisect_left(ends, place) + 1 for place in places})
