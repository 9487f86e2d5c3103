"""Reranker `lexical`: BM25 over the candidates, in this process.

Knows: the terms of question and candidates, as the engine reads terms in every language.
Does not know: anything that other words say. Costs nothing, fails never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, log

from elbowroom.clean.terms import terms
from elbowroom_proxy import asked
from elbowroom_proxy.ports import Reranker, Scored

K1, B = 1.2, 0.75  # Robertson and Zaragoza (2009): how soon more of a term says nothing more; how much length counts


class Lexical:
    """Scores of 0 (no term in common) and above."""

    async def scores(self, question: str, texts: Sequence[str]) -> Scored:
        return Scored(bm25(question, texts))

    def most(self, question: str, texts: Sequence[str]) -> int:  # noqa: ARG002 -- the port's names
        return 0

    async def close(self) -> None:
        """Holds nothing."""


def bm25(question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """One score a text; idf as Lucene keeps it positive: ln(1 + (n - df + 0.5) / (df + 0.5)), over these texts."""
    counts = [terms(text) for text in texts]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    wanted = terms(question).keys()
    found = Counter(term for count in counts for term in wanted & count.keys())
    idf = {term: log(1 + (len(texts) - df + 0.5) / (df + 0.5)) for term, df in found.items()}
    return tuple(
        fsum(
            idf[term] * count[term] * (K1 + 1) / (count[term] + K1 * (1 - B + B * length / mean))
            for term in idf.keys() & count.keys()
        )
        for count, length in zip(counts, lengths, strict=True)
    )


def build(_: asked.Reranker | None) -> Reranker:
    """Needs no entry in elbowroom.yaml."""
    return Lexical()
