"""Intervals of paired differences, against published quantiles and a known textbook case."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.paired import Paired, paired, quantile

numbers = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)],
)
def test_the_quantile_is_that_of_the_tables(freedom, t):
    assert quantile(freedom) == pytest.approx(t, rel=0.002)


def test_mean_interval_and_who_is_better():
    found = paired([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0, 3.0])
    spread = sqrt(sum((d - 0.5) ** 2 for d in (1, 0, 2, -1)) / 3)
    half = quantile(3) * spread / 2
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert (found.n, found.better, found.worse) == (4, 2, 1)


def test_too_few_cases_say_nothing():
    assert paired([], []) == Paired(0, 0.0, None, None, 0, 0)
    assert paired([1.0], [3.0]) == Paired(1, 2.0, None, None, 1, 0)


def test_lists_of_two_lengths_are_no_pairs():
    with pytest.raises(ValueError):
        paired([1.0], [])


@given(numbers)
def test_the_interval_holds_the_mean_and_turns_with_the_pairs(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = paired(first, second), paired(second, first)
    assert there.low is not None
    assert there.high is not None
    assert there.low <= there.mean <= there.high
    assert (back.mean, back.low, back.high) == pytest.approx((-there.mean, -there.high, -there.low))
    assert (there.better, there.worse) == (back.worse, back.better)
