"""Scores become one order and one scale."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.rank import relevances
from elbowroom.records import Document

finite = st.floats(allow_nan=False, allow_infinity=False)
documents = st.lists(st.tuples(st.none() | finite, st.none() | finite), max_size=12).map(
    lambda scores: [Document(at, str(at), "", score=a, rerank_score=b) for at, (a, b) in enumerate(scores)]
)


def scored(*scores: float | None, rerank: tuple[float | None, ...] = ()) -> list[Document]:
    reranked = rerank or (None,) * len(scores)
    return [
        Document(at, str(at), "", score=a, rerank_score=b)
        for at, (a, b) in enumerate(zip(scores, reranked, strict=True))
    ]


def test_min_max_within_one_scale():
    assert relevances(scored(3.0, 1.0, 2.0)) == [(1.0, 0), (0.0, 2), (0.5, 1)]


def test_equal_scores_are_all_as_relevant_and_keep_their_order():
    assert relevances(scored(2.0, 2.0)) == [(1.0, 0), (1.0, 1)]


def test_without_scores_the_order_given_counts():
    assert relevances(scored(None, None, None)) == [(1.0, 0), (0.5, 1), (0.0, 2)]


def test_reranked_before_scored_before_the_rest():
    found = relevances(scored(9.0, 8.0, None, 1.0, rerank=(None, 0.1, None, 0.9)))
    assert [rank for _, rank in found] == [2, 1, 3, 0]
    assert [relevance for relevance, _ in found] == [0.5, 0.5, 0.25, 1.0]


def test_nothing_gives_nothing():
    assert relevances([]) == []


def test_the_greatest_distance_is_still_a_number():
    assert relevances(scored(1.7e308, -1.7e308, 0.0)) == [(1.0, 0), (0.0, 2), (0.5, 1)]


@given(documents)
def test_ranks_are_a_permutation_and_relevance_falls_with_them(some):
    found = sorted(relevances(some), key=lambda one: one[1])
    assert [rank for _, rank in found] == list(range(len(some)))
    values = [relevance for relevance, _ in found]
    assert all(0 <= value <= 1 for value in values)
    # Neighbouring scales meet in one number, computed in two ways.
    assert all(a >= b - 1e-12 for a, b in pairwise(values))


@given(st.lists(finite, unique=True, max_size=12), st.randoms(use_true_random=False))
def test_the_order_given_means_nothing_where_scores_differ(scores, dice):
    some = [Document(at, str(at), "", score=score) for at, score in enumerate(scores)]
    shuffled = list(some)
    dice.shuffle(shuffled)
    before = dict(zip((one.id for one in some), relevances(some), strict=True))
    after = dict(zip((one.id for one in shuffled), relevances(shuffled), strict=True))
    assert before == after
