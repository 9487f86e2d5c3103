from __future__ import annotations

import msgspec
import pytest

from elbowroom import needs
from elbowroom.needs import Need, NeedCounts

KINDS = Need.__args__


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_question_is_a_value_that_says_which_it_is(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.tag


def test_every_question_is_one_that_may_be_asked() -> None:
    assert {one for name, one in vars(needs).items() if name.startswith("Need") and isinstance(one, type)} == set(KINDS)
    assert len({kind.__struct_config__.tag for kind in KINDS}) == len(KINDS) <= 12


def test_equal_questions_are_equal() -> None:
    assert NeedCounts("v", ("a",)) == NeedCounts("v", ("a",), recurring=True)
