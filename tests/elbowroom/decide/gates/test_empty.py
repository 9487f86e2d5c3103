"""A passage without text is told apart by how it came to have none."""

from __future__ import annotations

import pytest

from elbowroom.decide.gates.empty import build
from elbowroom.decide.passage import Room
from tests.passages import limits, passage

ZERO_WIDTH = "\u200b\u200b"


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (None, "its text is null"),
        ("", "its text is blank"),
        (" \n\t", "its text is blank"),
        (ZERO_WIDTH, "nothing is left of its text after cleaning"),
    ],
)
def test_no_text_is_refused_and_the_detail_says_how(text, detail):
    refusal = build(limits())(passage(text), Room([]))
    assert refusal is not None
    assert (refusal.detail, refusal.repeats) == (detail, None)


def test_any_text_is_let_in():
    assert build(limits())(passage("。"), Room([])) is None
