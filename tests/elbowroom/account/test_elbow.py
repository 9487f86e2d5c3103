"""The elbow: a known curve, and curves that have none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.elbow import elbow


def test_where_the_curve_bends():
    assert elbow([(1, 50.0), (2, 80.0), (3, 90.0), (6, 92.0), (10, 93.0)]) == 2


def test_order_does_not_matter_and_the_first_of_two_equals_wins():
    points = [(10.0, 93.0), (2.0, 80.0), (1.0, 50.0), (3.0, 90.0), (3.0, 90.0)]
    assert elbow(points) == 3


@pytest.mark.parametrize(
    "points",
    [
        [],
        [(1, 1.0), (2, 2.0)],
        [(1, 1.0), (1, 2.0), (2, 3.0)],  # two costs
        [(1, 1.0), (2, 2.0), (3, 3.0)],  # a straight line
        [(1, 1.0), (2, 1.2), (3, 3.0)],  # bent the other way
        [(1, 3.0), (2, 5.0), (3, 3.0)],  # nothing gained in the end
    ],
)
def test_a_curve_without_one(points):
    assert elbow(points) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_scale_does_not_matter(points):
    assert elbow(points) == elbow([(4 * cost + 8, 2 * gain - 16) for cost, gain in points])
