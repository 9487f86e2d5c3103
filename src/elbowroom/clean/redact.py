"""Placeholders in a text: `[REDACTED:aws_key#1]`.

Knows: that one value has one number in all of a request, and that places which overlap are one.
Does not know: why something is a secret (`find`), or whose text it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from elbowroom.records import MOST_SPANS, Redaction


class Place(NamedTuple):
    """Something to take out of a text: from and to, in code points, and what it is a part of, or the whole of."""

    start: int
    end: int
    rule: str
    value: str


class Numbers:
    """One request's: the values of each rule, in the order in which they were met."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, int]] = {}

    def of(self, rule: str, value: str) -> int:
        values = self._values.setdefault(rule, {})
        return values.setdefault(value, len(values) + 1)


def redact(text: str, places: Iterable[Place], numbers: Numbers, where: str) -> tuple[str, tuple[Redaction, ...]]:
    """The text with placeholders, and what they stand for."""
    pieces: list[str] = []
    spans: dict[tuple[str, int], list[tuple[int, int]]] = {}
    at = 0
    for place in _apart(places):
        number = numbers.of(place.rule, place.value)
        pieces += (text[at : place.start], f"[REDACTED:{place.rule}#{number}]")
        spans.setdefault((place.rule, number), []).append((place.start, place.end))
        at = place.end
    pieces.append(text[at:])
    told = tuple(
        Redaction(rule, number, len(some), tuple(some[:MOST_SPANS]), where) for (rule, number), some in spans.items()
    )
    return "".join(pieces), told


def _apart(places: Iterable[Place]) -> list[Place]:
    """Those that overlap as one, with the longest value among them."""
    kept: list[Place] = []
    for place in sorted(places):
        if kept and place.start < kept[-1].end:
            before = kept.pop()
            longest = max(before, place, key=lambda one: len(one.value))
            kept.append(Place(before.start, max(before.end, place.end), longest.rule, longest.value))
        else:
            kept.append(place)
    return kept
