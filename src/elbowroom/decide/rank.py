"""The caller's scores, as one order and one scale.

Knows: two kinds of scores that cannot be compared with each other (a reranker's and a retriever's), and none at all.
Does not know: what made a score.
"""

from __future__ import annotations

from collections.abc import Sequence

from elbowroom.records import Document


def relevances(documents: Sequence[Document]) -> list[tuple[float, int]]:
    """For each document, in the order given: relevance 0..1, and rank (0 is the best; ties keep the order given).

    Scale by scale: the reranked stand above the scored, and those above the unscored. Each scale has the share of 0..1
    that it has of the documents, the best at its upper end. Inside it relevance is min-max of the scores (all at the
    upper end where they are equal); without scores it falls evenly in the order given.
    """
    scales: tuple[list[tuple[float, int]], ...] = ([], [], [])
    for at, document in enumerate(documents):
        if document.rerank_score is not None:
            scales[0].append((document.rerank_score, at))
        elif document.score is not None:
            scales[1].append((document.score, at))
        else:
            scales[2].append((-at, at))
    result = [(0.0, 0)] * len(documents)
    rank = 0
    for scale in scales:
        if not scale:
            continue
        scale.sort(key=lambda scored: (-scored[0], scored[1]))
        top = 1 - rank / len(documents)
        share = len(scale) / len(documents)
        # Halved, so that the distance of two finite scores is finite.
        low = scale[-1][0] / 2
        span = scale[0][0] / 2 - low
        for score, at in scale:
            fallen = 1 - (score / 2 - low) / span if span > 0 else 0.0
            result[at] = (max(0.0, top - share * fallen), rank)
            rank += 1
    return result
