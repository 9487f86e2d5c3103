"""One sum, sorted once, and what does not fit is skipped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.packers.weighted import pack
from elbowroom.records import Drop
from tests.passages import drive, job, passage

NUMBERS: dict[str, Any] = {"per_source": 2, "min_novelty": 0.2}


def chunk(position: int, relevance: float, novelty: float | None, authority: float, source: str, cost: int):
    return passage(
        f"Chunk {position}.", position=position, relevance=relevance, novelty=novelty, authority=authority,
        source_id=source, tag_tokens=0, body_tokens=cost,
    )  # fmt: skip


def plain(rows: list[tuple[float, float, float, str, int]], budget: int) -> list[int]:
    """The same, said as simply as it can be: which rows go in, in which order."""
    order = sorted(range(len(rows)), key=lambda at: -(0.60 * rows[at][0] + 0.25 * rows[at][1] + 0.15 * rows[at][2]))
    taken: list[int] = []
    for at in order:
        _, novelty, _, source, cost = rows[at]
        if novelty < 0.20 or sum(rows[one][3] == source for one in taken) >= 2 or cost > budget:
            continue
        taken.append(at)
        budget -= cost
    return taken


def test_golden():
    rows = [
        (0.95, 0.90, 0.9, "a", 400),
        (0.92, 0.10, 0.9, "a", 300),  # says nothing new
        (0.90, 0.80, 0.8, "a", 900),
        (0.85, 0.70, 0.9, "a", 100),  # the third of its source
        (0.80, 0.60, 0.5, "b", 5000),  # too long
        (0.40, 0.90, 0.5, "c", 200),
    ]
    packing = drive(pack(job([chunk(at, *row) for at, row in enumerate(rows)], budget=2000, **NUMBERS)))
    assert [one.passage.document.position for one in packing.admitted] == [0, 2, 5] == plain(rows, 2000)
    assert {one.passage.document.position: one.reason for one in packing.dropped} == {
        1: Drop.LOW_NOVELTY,
        3: Drop.SOURCE_CAP,
        4: Drop.OVER_BUDGET,
    }


share = st.integers(0, 20).map(lambda n: n / 20)
row = st.tuples(share, share, share, st.sampled_from("abc"), st.integers(1, 500))


@given(st.lists(row, max_size=10), st.integers(0, 2000))
def test_the_same_as_said_simply(rows, budget):
    packing = drive(pack(job([chunk(at, *row) for at, row in enumerate(rows)], budget=budget, **NUMBERS)))
    assert [one.passage.document.position for one in packing.admitted] == plain(rows, budget)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("Refunds are made within seven days of the order.", Drop.LOW_NOVELTY),
        ("Plans renew on the first of May, every year.", None),
        ("", None),
    ],
)
def test_novelty_is_measured_where_nobody_said_it(second, reason):
    some = [passage("Refunds are made within seven days of the order!", position=0), passage(second, position=1)]
    packing = drive(pack(job(some, **NUMBERS)))
    assert {one.reason for one in packing.dropped} == {reason} - {None}
