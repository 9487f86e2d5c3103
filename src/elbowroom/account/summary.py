"""Many cases as one table: means by group, and by what went wrong.

Knows: what is kept of one measured case, which groups it is in, and how a group's numbers come about.
Does not know: how a case is run, or how tables are printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean, median
from typing import Any

from msgspec import Struct

from elbowroom.account.paired import Paired, paired
from elbowroom.account.verdict import Diagnosis


class Result(Struct, frozen=True, kw_only=True):
    """One case, packed in one way and measured."""

    case: str
    lang: str | None = None
    dataset: str | None = None
    query_class: str | None = None  # the case's own, not what routing made of it
    retrieved: float  # recall if every candidate were admitted
    recall: float
    all: bool
    answer: bool | None
    tokens: int  # of the evidence, note and tag lines included
    over: bool  # more than the budget
    prompt_tokens: int  # of the whole prompt
    diagnosis: Diagnosis | None = None
    lost_by: tuple[str, ...] = ()  # where packing failed: why expected passages were dropped, or `refused`
    judged: bool = False  # the case brought an answer
    cited: float | None = None  # share of the groups that the answer cites
    supported: bool | None = None
    sentences: int = 0
    grounded: int = 0
    ms: float = 0.0  # the decision, from the request as read to the prompt


class Row(Struct, frozen=True, kw_only=True):
    """A group's means, in percent where they are shares. None: no case of the group can be judged by that."""

    by: str  # "all", "lang", "dataset" or "class"
    group: str
    n: int
    recall: float
    all: float
    answer: float | None
    tokens: float
    over: int
    retrieved: float
    cited: float | None
    supported: int
    unjudged: int
    groundedness: float | None
    diagnoses: dict[str, int]
    lost_by: dict[str, int]
    prompt_tokens: float
    ms: float  # median


def grouped(results: Sequence[Result]) -> Iterator[tuple[str, str, list[Result]]]:
    """(by, group, its cases): all of them, then each language, dataset and class, by name."""
    yield "all", "all", list(results)
    for by, field in (("lang", "lang"), ("dataset", "dataset"), ("class", "query_class")):
        for name in sorted({getattr(one, field) for one in results} - {None}):
            yield by, name, [one for one in results if getattr(one, field) == name]


def rows(results: Sequence[Result]) -> list[Row]:
    """A row for each group; none where there is no case."""
    return [_row(by, name, some) for by, name, some in grouped(results) if some]


def compared(first: Iterable[Result], second: Iterable[Result], field: str) -> Paired:
    """Second minus first over the cases that both have, in points; `field` is `recall`, `all` or `answer`."""
    before = {one.case: getattr(one, field) for one in first}
    pairs = [(before[one.case], getattr(one, field)) for one in second if before.get(one.case) is not None]
    return paired([100.0 * a for a, b in pairs if b is not None], [100.0 * b for _, b in pairs if b is not None])


def _row(by: str, group: str, some: Sequence[Result]) -> Row:
    sentences = sum(one.sentences for one in some)
    return Row(
        by=by,
        group=group,
        n=len(some),
        recall=_percent(one.recall for one in some),
        all=_percent(one.all for one in some),
        answer=_percent_or_none(one.answer for one in some),
        tokens=fmean(one.tokens for one in some),
        over=sum(one.over for one in some),
        retrieved=_percent(one.retrieved for one in some),
        cited=_percent_or_none(one.cited for one in some),
        supported=sum(one.supported is True for one in some),
        unjudged=sum(one.supported is None for one in some),
        groundedness=100.0 * sum(one.grounded for one in some) / sentences if sentences else None,
        diagnoses=_counted(one.diagnosis for one in some if one.diagnosis is not None),
        lost_by=_counted(reason for one in some for reason in one.lost_by),
        prompt_tokens=fmean(one.prompt_tokens for one in some),
        ms=median(one.ms for one in some),
    )


def _percent(shares: Iterable[float]) -> float:
    return 100.0 * fmean(shares)


def _percent_or_none(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return _percent(known) if known else None


def _counted(words: Iterable[Any]) -> dict[str, int]:
    return {str(word): n for word, n in Counter(words).most_common()}
