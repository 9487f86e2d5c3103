"""One source may not fill the evidence."""

from __future__ import annotations

import pytest

from elbowroom.decide.gates.source_cap import build
from elbowroom.decide.passage import Room
from tests.passages import limits, passage


@pytest.mark.parametrize("by", ["source_id", "url"])
def test_the_third_of_a_source_is_refused(by):
    admitted = [passage(position=at, **{by: "kb"}) for at in range(2)]
    gate = build(limits(per_source=2))
    assert gate(passage(position=2, **{by: "kb"}), Room(admitted[:1])) is None
    refusal = gate(passage(position=2, **{by: "kb"}), Room(admitted))
    assert refusal is not None
    assert refusal.detail == "its source has 2 of 2 already: d0, d1"


def test_other_sources_do_not_count():
    admitted = [passage(position=0, source_id="kb"), passage(position=1, source_id="blog"), passage(position=2)]
    gate = build(limits(per_source=2))
    assert gate(passage(position=3, source_id="kb"), Room(admitted)) is None
    assert gate(passage(position=4), Room(admitted)) is None
