"""Families are data, and the unknown one is dearer than any."""

from __future__ import annotations

import pytest

from elbowroom.count.openai.families import FAMILIES, family
from elbowroom.errors import CountUnavailable


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_unknown_family_is_no_cheaper_than_any(name: str) -> None:
    one, unknown = family(name), family("unknown")
    assert unknown.spare >= 16 or name == "unknown"
    assert one.priming <= unknown.priming
    assert one.call <= unknown.call
    assert one.tools + one.described <= unknown.tools + unknown.described
    assert unknown.choice_counts
    for size in (None, (1, 1), (512, 512), (4000, 300), (3000, 3000)):
        for low in (False, True):
            assert one.images.tokens(size, low=low) <= unknown.images.tokens(size, low=low)


def test_a_family_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(CountUnavailable, match="no family 'gpt-0'"):
        family("gpt-0")
