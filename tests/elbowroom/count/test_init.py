"""Counters by name."""

from __future__ import annotations

import pytest

from elbowroom.count import NAMES, build
from elbowroom.errors import CountUnavailable
from elbowroom.records import Model


def model(counter: str) -> Model:
    return Model("m", "openai", "m", 8192, 1024, counter, "gpt-4o", "o200k_base")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_file_in_the_folder_is_a_counter(name: str) -> None:
    counter = build(model(name))
    assert counter.vocabulary == "o200k_base"
    assert counter.plan({"messages": []}).constant >= 0


@pytest.mark.parametrize("name", ["counter", "openai", "os", "", "..records"])
def test_nothing_else_can_be_loaded(name: str) -> None:
    with pytest.raises(CountUnavailable) as caught:
        build(model(name))
    assert caught.value.param == "model"
