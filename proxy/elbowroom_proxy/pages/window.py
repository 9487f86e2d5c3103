"""A request's window as a bar: what took how much of it.

Knows: the parts of the window's equation, in the order in which the bar shows them, and that the least of them must
still be seen.
Does not know: how a bar is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

LEAST = 0.6  # percent of the bar that a part has at least
LETTER = 2.4  # percent from which on a letter fits into a part
PARTS = (
    ("reserve", "A", "answer reserve", ("answer_reserve",)),
    ("instructions", "I", "instructions", ("instructions",)),
    ("history", "H", "history, results, examples", ("examples", "conversation")),
    ("tools", "T", "tools", ("tools",)),
    ("question", "Q", "question and framing", ("question", "framing")),
    ("evidence", "E", "evidence", ("evidence_tokens",)),
    ("margin", "M", "safety margin", ("safety_margin",)),
)


class Part(Struct, frozen=True):
    """One part of the bar; `x` and `width` in percent of it."""

    kind: str
    letter: str
    name: str
    tokens: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        """Where its letter stands."""
        return round(self.x + self.width / 2, 3)

    @property
    def lettered(self) -> bool:
        """Whether there is room for it."""
        return self.width >= LETTER


class Bar(Struct, frozen=True):
    """The whole window, in tokens."""

    whole: int
    parts: tuple[Part, ...]  # of some tokens each; what is unused comes last
    ceiling: int  # of evidence
    budget: int

    @property
    def said(self) -> str:
        """The bar in words, for whoever does not see it."""
        return ", ".join(f"{one.name} {one.tokens:,}" for one in self.parts) + f"; {self.whole:,} tokens in all"


def bar(record: Mapping[str, Any]) -> Bar | None:
    """None where no window was planned."""
    terms = record.get("window")
    if not terms:
        return None
    known = {**terms, "evidence_tokens": record.get("evidence_tokens") or 0}
    taken = [(*one[:3], sum(known.get(field) or 0 for field in one[3])) for one in PARTS]
    whole = int(terms["input_limit"])
    unused = max(0, whole - sum(tokens for *_, tokens in taken))
    spread = [one for one in (*taken, ("unused", "", "unused", unused)) if one[3]]
    return Bar(whole, tuple(_placed(spread)), int(terms["evidence_ceiling"]), int(terms["evidence_budget"]))


def _placed(spread: list[tuple[str, str, str, int]]) -> list[Part]:
    total = sum(tokens for *_, tokens in spread)
    widths = [max(LEAST, 100 * tokens / total) for *_, tokens in spread]
    scale = 100 / sum(widths) if widths else 1.0
    parts, x = [], 0.0
    for (kind, letter, name, tokens), width in zip(spread, widths, strict=True):
        parts.append(Part(kind, letter, name, tokens, round(x, 3), round(width * scale, 3)))
        x += width * scale
    return parts
