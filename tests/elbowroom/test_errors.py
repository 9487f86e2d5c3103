from __future__ import annotations

import pytest

from elbowroom import errors
from elbowroom.errors import ElbowroomError

KINDS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ElbowroomError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_error_says_what_is_wrong_and_where(kind: type[ElbowroomError]) -> None:
    error = kind("what is wrong", param="messages[0]")
    assert (str(error), error.message, error.param) == ("what is wrong", "what is wrong", "messages[0]")
    assert kind("what is wrong").param is None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_codes_are_words_and_hints_are_refusals(kind: type[ElbowroomError]) -> None:
    assert kind.code.isidentifier()
    assert kind.code.islower()
    assert 400 <= kind.status_hint < 600


def test_the_list_is_flat() -> None:
    assert all(kind.__bases__ == (ElbowroomError,) for kind in KINDS if kind is not ElbowroomError)
