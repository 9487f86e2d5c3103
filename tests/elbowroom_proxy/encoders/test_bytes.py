"""Bytes bound tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy import encoders

BYTES = encoders.load("bytes")


@given(st.text())
def test_they_are_those_of_utf_8(text):
    assert BYTES.tokens(text) == len(text.encode("utf-8", "surrogatepass"))


def test_a_lone_surrogate_is_three():
    assert BYTES.tokens("a\ud800") == 4


@given(st.text(), st.text())
def test_they_add_up(one, two):
    assert BYTES.tokens(one + two) == BYTES.tokens(one) + BYTES.tokens(two)
