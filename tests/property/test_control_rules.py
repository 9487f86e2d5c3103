"""What is control is written down twice: a rule that is taken away, or finds no longer what it is for, is missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elbowroom.clean.control_strings import RULES
from elbowroom.clean.neutralise import LIVE, neutralise

STRINGS: list[str] = json.loads((Path(__file__).parents[1] / "fixtures" / "control_strings.json").read_text("utf-8"))


@pytest.mark.parametrize("string", STRINGS)
def test_each_string_is_broken(string: str):
    text = f"before{string}after"
    broken = neutralise(text).text
    assert string not in broken
    assert broken.replace("\\", "") == text
    assert LIVE.search(text)
    assert not LIVE.search(broken)


def test_each_rules_examples_are_among_them():
    assert [example for rule in RULES for example in rule.examples if example not in STRINGS] == []
