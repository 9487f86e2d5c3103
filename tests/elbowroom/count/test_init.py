"""Counters by name."""

from __future__ import annotations

import importlib

import pytest

from elbowroom.count import NAMES, build
from elbowroom.errors import CountUnavailable
from elbowroom.records import Model


def model(counter: str) -> Model:
    return Model("m", "openai", "m", 8192, 1024, counter, "gpt-4o", "o200k_base")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_file_in_the_folder_exports_build(name: str) -> None:
    assert callable(importlib.import_module(f"elbowroom.count.{name}").build)


def test_a_counter_is_loaded_by_its_name() -> None:
    counter = build(model("openai_chat"))
    assert counter.vocabulary == "o200k_base"
    assert counter.plan({"messages": []}).constant == 3


@pytest.mark.parametrize("name", ["counter", "openai", "os", "", "..records"])
def test_nothing_else_can_be_loaded(name: str) -> None:
    with pytest.raises(CountUnavailable) as caught:
        build(model(name))
    assert caught.value.param == "model"
