"""Three orders of the same passages."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.text import Text
from elbowroom.decide.order import arrange
from elbowroom.decide.passage import Admitted, Passage
from elbowroom.records import Document


def admitted(*positions: int) -> list[Admitted]:
    """Passages, best first, each of which the client listed at that position."""
    return [
        Admitted(Passage(Document(at, f"d{at}", "x"), Text.of("x"), "", 1.0, rank, 0, 0), "x", 0)
        for rank, at in enumerate(positions)
    ]


def ranks(passages: tuple[Admitted, ...]) -> list[int]:
    return [one.passage.rank for one in passages]


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (4, [0, 2, 3, 1]), (5, [0, 2, 4, 3, 1])],
)
def test_edges_have_the_best_first_and_the_second_best_last(count: int, expected: list[int]):
    assert ranks(arrange(admitted(*range(count)), "edges")) == expected


def test_document_order_is_the_clients():
    assert ranks(arrange(admitted(7, 2, 5), "document")) == [1, 2, 0]


@given(st.permutations(range(6)), st.sampled_from(["best_first", "edges", "document"]))
def test_nobody_is_lost(positions: list[int], order: Literal["best_first", "edges", "document"]):
    passages = admitted(*positions)
    assert sorted(ranks(arrange(passages, order))) == list(range(6))
    assert arrange(passages, "best_first") == tuple(passages)
