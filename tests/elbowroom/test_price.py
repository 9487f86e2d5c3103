"""Prices are whole numbers, and no binary fraction gets into them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.price import Price, micro_usd


@pytest.mark.parametrize(
    ("said", "micro"), [(0, 0), (1.25e-07, 125_000), (3e-08, 30_000), (2.5e-06, 2_500_000), (0.1, 10**11), (3e-13, 0)]
)
def test_usd_a_token_in_micro_usd_a_million(said, micro):
    assert micro_usd(said) == micro


@given(st.integers(0, 10**9))
def test_what_was_published_in_dollars_a_million_is_exact(micro):
    assert micro_usd(float(f"{micro}e-12")) == micro


def test_what_is_not_priced_apart_is_not_free():
    assert Price(1, 2).cached is None
