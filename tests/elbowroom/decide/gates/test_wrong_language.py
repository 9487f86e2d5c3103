from __future__ import annotations

import pytest

from elbowroom.decide.gates.wrong_language import build
from elbowroom.decide.passage import Refusal, Room
from tests.passages import limits, passage

WANTED = limits(languages=("en", "zh-CN"))


@pytest.mark.parametrize("lang", [None, "", "en", "EN-gb", "zh_Hant", "zh"])
def test_wanted_or_unsaid(lang):
    assert build(WANTED)(passage(lang=lang), Room([])) is None


def test_another_language():
    assert build(WANTED)(passage(lang="de-AT"), Room([])) == Refusal("in de-AT, not in en, zh")


def test_no_list_wants_all():
    assert build(limits())(passage(lang="de"), Room([])) is None
