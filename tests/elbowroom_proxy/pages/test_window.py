"""The bar of a window: everything in its place, and the least of it still seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.pages.window import bar

WINDOW = {
    "context_window": 8192, "input_limit": 8192, "instructions": 22, "tools": 0, "examples": 10, "conversation": 90,
    "question": 16, "framing": 3, "answer_reserve": 300, "safety_margin": 64, "evidence_ceiling": 1500,
    "evidence_budget": 1400,
}  # fmt: skip


def test_each_part_is_there_in_order_and_nothing_that_takes_nothing():
    found = bar({"window": WINDOW, "evidence_tokens": 269})
    assert found is not None
    assert [(one.kind, one.tokens) for one in found.parts] == [
        ("reserve", 300), ("instructions", 22), ("history", 100), ("question", 19), ("evidence", 269), ("margin", 64),
        ("unused", 7418),
    ]  # fmt: skip
    assert (found.whole, found.ceiling, found.budget) == (8192, 1500, 1400)
    assert found.said.startswith("answer reserve 300, instructions 22, ")
    assert found.said.endswith("unused 7,418; 8,192 tokens in all")
    assert [one.lettered for one in found.parts] == [True, False, False, False, True, False, True]


def test_no_window_no_bar():
    assert bar({"window": None}) is None
    assert bar({}) is None


@given(st.lists(st.integers(0, 1_000_000), min_size=8, max_size=8), st.integers(1, 1_000_000))
def test_it_is_filled_exactly_and_every_part_can_be_seen(terms, limit):
    names = ("instructions", "tools", "examples", "conversation", "question", "framing", "answer_reserve")
    window = {**WINDOW, **dict(zip(names, terms, strict=False)), "input_limit": limit}
    found = bar({"window": window, "evidence_tokens": terms[7]})
    assert found is not None
    x = 0.0
    for part in found.parts:
        assert part.x == pytest.approx(x, abs=0.01)
        assert part.width > 0.5
        assert part.x < part.middle < part.x + part.width
        x += part.width
    assert x == pytest.approx(100, abs=0.05)
