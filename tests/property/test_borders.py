"""The claim behind cached counts: parts of a prompt, cut where the engine cuts, add up to the whole."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.count_borders import border
from elbowroom_proxy.vocabularies import FILES, Vocabularies

VOCABULARIES = Vocabularies()


@pytest.mark.parametrize("name", sorted(FILES))
def test_tokens_add_up_at_a_border(name: str) -> None:
    dice = random.Random(7)
    for _ in range(5000):
        before, after = border(dice)
        apart = VOCABULARIES.tokens(name, before) + VOCABULARIES.tokens(name, after)
        assert VOCABULARIES.tokens(name, before + after) == apart, (before, after)


@settings(max_examples=150)
@given(st.text(max_size=12), st.text(min_size=1, max_size=12).filter(lambda t: not t[0].isspace() and t[0] != "/"))
def test_tokens_add_up_for_any_text(before: str, after: str) -> None:
    for name in FILES:
        apart = VOCABULARIES.tokens(name, before + "\n") + VOCABULARIES.tokens(name, after)
        assert VOCABULARIES.tokens(name, before + "\n" + after) == apart


def test_a_slash_after_a_line_break_is_why_the_claim_excludes_it() -> None:
    apart = VOCABULARIES.tokens("o200k_base", "end.\n") + VOCABULARIES.tokens("o200k_base", "//path")
    assert VOCABULARIES.tokens("o200k_base", "end.\n//path") != apart
