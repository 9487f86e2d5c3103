from __future__ import annotations

from enum import StrEnum

from elbowroom import records
from elbowroom.records import Drop


def test_each_word_is_written_as_it_is_said() -> None:
    words = [one for one in vars(records).values() if isinstance(one, type) and issubclass(one, StrEnum)]
    assert Drop in words
    assert all(word.value == word.name.lower() for kind in words for word in kind)
