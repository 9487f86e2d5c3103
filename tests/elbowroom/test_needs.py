from __future__ import annotations

import msgspec
import pytest

from elbowroom import needs
from elbowroom.errors import ElbowroomError, InvalidRequest
from elbowroom.needs import Answer, Need, NeedCounts, Steps, recorded

KINDS = Need.__args__


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_question_is_a_value_that_says_which_it_is(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.tag


def test_every_question_is_one_that_may_be_asked() -> None:
    assert {one for name, one in vars(needs).items() if name.startswith("Need") and isinstance(one, type)} == set(KINDS)
    assert len({kind.__struct_config__.tag for kind in KINDS}) == len(KINDS) <= 12


def test_answers_are_recorded_and_errors_reach_the_step_that_asked() -> None:
    def steps() -> Steps[tuple[Answer, str]]:
        first = yield NeedCounts("v", ("a",))
        try:
            yield NeedCounts("v", ("b",))
        except ElbowroomError as error:
            return first, error.message
        return first, ""

    for end in (InvalidRequest("no"), None):
        answers: list[Answer] = []
        driven = recorded(steps(), answers)
        next(driven)
        driven.send((1,))
        with pytest.raises(StopIteration) as done:
            driven.send((2,)) if end is None else driven.throw(end)
        assert done.value.value == ((1,), "no" if end else "")
        assert answers == ([(1,)] if end else [(1,), (2,)])


def test_equal_questions_are_equal() -> None:
    assert NeedCounts("v", ("a",)) == NeedCounts("v", ("a",), recurring=True)
