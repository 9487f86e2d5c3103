"""Passages and packing jobs for tests, and a counter that needs no vocabulary.

A token here is a run of letters and digits, or any other visible character, or a newline: additive over lines, as the
real ones are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from elbowroom.clean.text import Text
from elbowroom.decide import gates
from elbowroom.decide.passage import Gate, Job, Limits, Passage
from elbowroom.decide.rank import relevances
from elbowroom.needs import NeedCounts, Steps
from elbowroom.records import Document, Drop

T = TypeVar("T")

_TOKEN = re.compile(r"[a-zA-Z0-9]+|[^\sa-zA-Z0-9]|\n")
VOCABULARY = "words"


def tokens(text: str) -> int:
    """How many tokens the text has."""
    return len(_TOKEN.findall(text))


def drive(steps: Steps[T], asked: list[NeedCounts] | None = None) -> T:
    """Answers every question of a piece of the walk; notes them in `asked`."""
    answer: Any = None
    while True:
        try:
            need = steps.send(answer)
        except StopIteration as done:
            return done.value
        assert isinstance(need, NeedCounts)
        if asked is not None:
            asked.append(need)
        answer = tuple(map(tokens, need.texts))


def limits(**numbers: Any) -> Limits:
    """Numbers that do not bind, but for those that are given."""
    open_ = {
        "ceiling": 10**6,
        "max_passages": 10**6,
        "per_source": 10**6,
        "max_passage_tokens": 10**6,
        "min_excerpt_tokens": 1,
        "rerank_keep": 10**6,
        "floor": 0.0,
        "min_novelty": 0.0,
    }
    return Limits(**{**open_, **numbers})


def passage(text: str | None = "Text.", **known: Any) -> Passage:
    """A passage with that text; `known` are fields of the passage or, all others, of its document."""
    shown = ("title", "version")  # the document's, and made of it
    mine = {name: known.pop(name) for name in Passage.__struct_fields__ if name in known and name not in shown}
    position = known.setdefault("position", 0)
    known.setdefault("id", f"d{position}")
    document = Document(text=text, **known)
    read = Text.of(text or "")
    title = document.title or ""
    measured: dict[str, Any] = {
        "relevance": 1.0,
        "rank": position,
        "tag_tokens": tokens(f"<S1 {title}>\n") + tokens("</S1>\n"),
        "body_tokens": tokens(read.clean + "\n"),
    }
    return Passage(document, read, title, **{**measured, **mine})


def passages(documents: Iterable[Mapping[str, Any]]) -> list[Passage]:
    """One for each, ranked as the service does it."""
    made = [passage(**{"position": at, **fields}) for at, fields in enumerate(documents)]
    ranks = relevances([one.document for one in made])
    return [
        passage(**{**fields, "position": at, "relevance": relevance, "rank": rank})
        for at, (fields, (relevance, rank)) in enumerate(zip(documents, ranks, strict=True))
    ]


def gates_of(moment: str, numbers: Limits, *names: str) -> tuple[tuple[Drop, Gate], ...]:
    """The gates of those names, all if there are none, that act at that moment."""
    modules = [gates.load(name) for name in names or sorted(gates.NAMES)]
    return tuple((module.REASON, module.build(numbers)) for module in modules if moment == module.MOMENT)


def job(some: Iterable[Passage], *, question: str = "", budget: int = 10**6, **rest: Any) -> Job:
    """A job for a packer over these passages; `rest` are fields of the job or numbers of its limits."""
    own = {name: rest.pop(name) for name in ("reranked", "gates") if name in rest}
    numbers = limits(**rest)
    return Job(
        passages=tuple(sorted(some, key=lambda one: one.rank)),
        question=dict.fromkeys(Text.of(question).terms, 1.0),
        question_text=question,
        budget=budget,
        limits=numbers,
        vocabulary=VOCABULARY,
        **{"gates": gates_of("pack", numbers), **own},
    )
