"""Evaluates the few expressions of PromQL that docs/alerts.yaml and docs/dashboard.json are written in.

Knows: selectors with = != =~ !~, increase and rate over all scrapes it is given, histogram_quantile's shape, sum, max,
min, abs, arithmetic, comparisons that filter, and, or. Whatever else is written is an error, so that no rule is taken
for tested that was not understood.
Does not know: time. `increase` is the last scrape less the first, of series that both have; nothing is extrapolated.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Scrape = Mapping[Labels, float]
NAME = "__name__"

_TOKEN = re.compile(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?)(?![\w.])|(?P<word>[A-Za-z_]\w*)|(?P<text>"[^"]*")|(?P<range>\[\d+[smhd]\])'
    r"|(?P<sign>==|!=|>=|<=|=~|!~|[-+*/(){},=<>]))"
)
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "/": lambda a, b: a / b if b else float("nan"),
}  # fmt: skip
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "=~": lambda said, pattern: re.fullmatch(pattern, said) is not None,
    "!~": lambda said, pattern: re.fullmatch(pattern, said) is None,
}
_SUMMED: dict[str, Callable[[Sequence[float]], float]] = {"sum": sum, "max": max, "min": min}


def scrape(text: str) -> Scrape:
    """What /metrics shows, by name and labels."""
    found: dict[Labels, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[frozenset({NAME: sample.name, **sample.labels}.items())] = sample.value
    return found


def evaluate(text: str, *scrapes: Scrape) -> Vector | float:
    """The expression's value at the last of those scrapes. Raises `ValueError` for what it does not understand."""
    reader = _Reader(text, scrapes)
    value = reader.either()
    reader.end()
    return value


def names(text: str) -> set[str]:
    """The metrics that an expression is made from."""
    reader = _Reader(text, ({},))
    reader.either()
    reader.end()
    return reader.named


class _Reader:
    """Reads and works out at once, by falling from `or` down to a single selector."""

    def __init__(self, text: str, scrapes: Sequence[Scrape]) -> None:
        self.named: set[str] = set()
        self._scrapes = scrapes
        self._tokens: list[tuple[str, str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"not understood: {text[at:]}")
            self._tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            at = found.end()

    def end(self) -> None:
        if self._tokens:
            raise ValueError(f"not understood: {self._tokens}")

    def either(self) -> Any:
        value = self._both()
        while self._said("or"):
            value = {**self._both(), **value}
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._said("and"):
            other = {_unnamed(labels) for labels in self._compared()}
            value = {labels: one for labels, one in value.items() if _unnamed(labels) in other}
        return value

    def _compared(self) -> Any:
        value = self._added()
        for sign, holds in _COMPARED.items():
            if self._said(sign):
                most = self._added()
                if isinstance(value, float) or not isinstance(most, float):
                    raise ValueError("only series are compared, and only with a number")
                return {labels: one for labels, one in value.items() if holds(one, most)}
        return value

    def _added(self) -> Any:
        return self._chain(self._multiplied, "+-")

    def _multiplied(self) -> Any:
        return self._chain(self._single, "*/")

    def _chain(self, part: Callable[[], Any], signs: str) -> Any:
        value = part()
        while self._tokens and self._tokens[0][1] in signs and self._tokens[0][0] == "sign":
            value = _joined(_ARITHMETIC[self._next()[1]], value, part())
        return value

    def _single(self) -> Any:
        kind, word = self._next()
        if kind == "number":
            return float(word)
        if word == "(":
            value = self.either()
            self._must(")")
            return value
        if kind != "word":
            raise ValueError(f"not understood: {word}")
        if word in _SUMMED:
            return self._sum(_SUMMED[word])
        if word == "abs":
            return {_unnamed(labels): abs(one) for labels, one in self._inside().items()}
        if word in {"increase", "rate"}:
            return self._increase()
        if word == "histogram_quantile":
            return self._quantile()
        return self._select(word, self._scrapes[-1])

    def _inside(self) -> Any:
        self._must("(")
        value = self.either()
        self._must(")")
        return value

    def _sum(self, of: Callable[[Sequence[float]], float]) -> Vector:
        by: list[str] = []
        if self._said("by"):
            self._must("(")
            while not self._said(")"):
                by.append(self._next()[1])
                self._said(",")
        groups: dict[Labels, list[float]] = {}
        for labels, one in self._inside().items():
            groups.setdefault(frozenset((k, v) for k, v in labels if k in by), []).append(one)
        return {labels: of(ones) for labels, ones in groups.items()}

    def _increase(self) -> Vector:
        self._must("(")
        name = self._next()[1]
        at = self._tokens
        first = self._select(name, self._scrapes[0])
        self._tokens = at  # the same matchers again, now of the last scrape
        last = self._select(name, self._scrapes[-1])
        if self._next()[0] != "range":
            raise ValueError("increase wants a range")
        self._must(")")
        return {_unnamed(labels): one - first[labels] for labels, one in last.items() if labels in first}

    def _quantile(self) -> Vector:
        """That it is read, and whether there is anything; not where the quantile lies."""
        self._must("(")
        self._single()
        self._must(",")
        value: Vector = self.either()
        self._must(")")
        return {frozenset((k, v) for k, v in labels if k != "le"): one for labels, one in value.items()}

    def _select(self, name: str, scraped: Scrape) -> Vector:
        self.named.add(name)
        wanted: list[tuple[str, str, str]] = []
        if self._said("{"):
            while not self._said("}"):
                label, how, said = self._next()[1], self._next()[1], self._next()[1].strip('"')
                wanted.append((label, how, said))
                self._said(",")
        found: Vector = {}
        for labels, one in scraped.items():
            have = dict(labels)
            if have[NAME] == name and all(_MATCHES[how](have.get(label, ""), said) for label, how, said in wanted):
                found[labels] = one
        return found

    def _next(self) -> tuple[str, str]:
        if not self._tokens:
            raise ValueError("it ends too early")
        first, self._tokens = self._tokens[0], self._tokens[1:]
        return first

    def _said(self, word: str) -> bool:
        if self._tokens and self._tokens[0][1] == word and self._tokens[0][0] != "text":
            self._next()
            return True
        return False

    def _must(self, word: str) -> None:
        if not self._said(word):
            raise ValueError(f"{word} is missing before {self._tokens[:3]}")


def _unnamed(labels: Labels) -> Labels:
    return frozenset((key, value) for key, value in labels if key != NAME)


def _joined(how: Callable[[float, float], float], one: Any, other: Any) -> Any:
    if isinstance(one, float) and isinstance(other, float):
        return how(one, other)
    if isinstance(other, float):
        return {_unnamed(labels): how(value, other) for labels, value in one.items()}
    if isinstance(one, float):
        return {_unnamed(labels): how(one, value) for labels, value in other.items()}
    right = {_unnamed(labels): value for labels, value in other.items()}
    return {bare: how(value, right[bare]) for labels, value in one.items() if (bare := _unnamed(labels)) in right}
