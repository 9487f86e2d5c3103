"""How much of the expected evidence was admitted: credit for each group of a case, on the text that was sent.

Knows: what a case expects (groups, alternatives, quotes, answers), that texts are compared in their normal form, and
where in the evidence a passage's own text stands.
Does not know: how anything was chosen, what a model made of it, or where cases come from.

A group's credit, 0 to 1, is that of its best alternative: the share of its quotes that stand in the admitted text, or
of its passage's character 6-grams where nothing is quoted. It is looked for in all that was admitted, so a copy earns
the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from elbowroom.clean.text import normal

WHOLE = 0.97  # a group with more credit than this is there
_GRAM = 6  # characters
_LEAST = 0.3  # a smaller share of 6-grams is what any two texts have in common
_NO_PROOF = frozenset({"", "yes", "no"})  # answers whose occurrence says nothing


class Alternative(Struct, frozen=True):
    """One passage that would do, and what of it is needed."""

    id: str
    quotes: tuple[str, ...] = ()  # none: all of the passage
    any_quote: bool = False  # one of them suffices


class Expected(Struct, frozen=True):
    """What a case asks of the evidence."""

    groups: tuple[tuple[Alternative, ...], ...]  # one at least, none of them empty
    answers: tuple[str, ...] = ()
    long_answer: bool = False  # the answers are texts, not strings to be found


class Score(Struct, frozen=True):
    """One case, measured. `answer` is None where no answer could be found by its letters."""

    recall: float  # 0 to 1: the mean credit of the groups
    all: bool  # every group is there
    answer: bool | None


class _Wanted(Struct, frozen=True):
    """An alternative, ready to be looked for."""

    quotes: tuple[str, ...]
    any_quote: bool
    grams: frozenset[str]


class Yardstick:
    """Measures any number of packings of one case."""

    def __init__(self, expected: Expected, texts: Mapping[str, str], candidates: Sequence[str]) -> None:
        """`texts` by passage id, as they came; `candidates` are all texts that the case brings to choose from."""
        self._groups = [[_wanted(one, texts.get(one.id, "")) for one in group] for group in expected.groups]
        self._needs_grams = any(not one.quotes for group in self._groups for one in group)
        offered = [normal(text) for text in candidates]
        short = () if expected.long_answer else expected.answers
        self._answers = tuple(
            form for form in map(normal, short) if form not in _NO_PROOF and any(form in text for text in offered)
        )

    def credits(self, bodies: Iterable[str]) -> tuple[float, ...]:
        """The credit of each group in these texts together."""
        text = normal("\n".join(bodies))
        grams = _grams(text) if self._needs_grams else frozenset()
        return tuple(max(_credit(one, text, grams) for one in group) for group in self._groups)

    def answered(self, text: str) -> bool | None:
        """Whether an expected answer stands in the text; None where that cannot be told."""
        if not self._answers:
            return None
        form = normal(text)
        return any(answer in form for answer in self._answers)

    def score(self, bodies: Sequence[str]) -> Score:
        """The measure of what was admitted."""
        earned = self.credits(bodies)
        return Score(sum(earned) / len(earned), all(map(is_there, earned)), self.answered("\n".join(bodies)))


def is_there(credit: float) -> bool:
    """Whether a group with this credit counts as admitted."""
    return credit > WHOLE


def bodies(prompt: str) -> dict[str, str]:
    """What was sent of each passage, by its label: what stands between its two tag lines, whatever their form.

    The nonce tells tag lines from everything else; no passage contains it.
    """
    first = re.search(r"\bS1-(\d{4,})\b", prompt)
    if first is None:
        return {}
    tag = re.compile(rf"\b(S\d+)-{first[1]}\b")
    found: dict[str, str] = {}
    open_label, lines = "", list[str]()
    for line in prompt.split("\n"):
        match = tag.search(line)
        if match is None:
            lines.append(line)
        elif match[1] == open_label:
            found[open_label] = "\n".join(lines)
            open_label = ""
        else:
            open_label, lines = match[1], []
    return found


def _wanted(alternative: Alternative, text: str) -> _Wanted:
    quotes = tuple(form for form in map(normal, alternative.quotes) if form)
    return _Wanted(quotes, alternative.any_quote, frozenset() if quotes else _grams(normal(text)))


def _credit(wanted: _Wanted, text: str, grams: frozenset[str]) -> float:
    if wanted.quotes:
        found = sum(quote in text for quote in wanted.quotes)
        return float(found > 0) if wanted.any_quote else found / len(wanted.quotes)
    if not wanted.grams:
        return 0.0
    share = len(wanted.grams & grams) / len(wanted.grams)
    return share if share >= _LEAST else 0.0


def _grams(form: str) -> frozenset[str]:
    """All runs of six characters."""
    return frozenset(form[at : at + _GRAM] for at in range(len(form) - _GRAM + 1))
