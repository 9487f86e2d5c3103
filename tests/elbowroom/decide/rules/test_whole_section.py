"""A procedure goes in complete, after what it presupposes, or not at all."""

from __future__ import annotations

import pytest

from elbowroom.decide import packers
from elbowroom.decide.rules.whole_section import pack
from tests.passages import drive, job, passages
from tests.rules import Case, packed, with_and_without, with_class

FILLER_EN = " Note the time in the log of the machine, and who was there."
FILLER_ZH = "请在机器日志中记录时间以及在场人员。"
EN: Case = (
    "How do I replace the filter of the press?",
    [
        {"id": "ad", "source_id": "shop", "text": "Replace the filter of the press? Get a new press." + FILLER_EN},
        {"id": "p2", "source_id": "manual", "section": "Replacing the filter", "score": 0.9,
         "text": "2. Open the press and take the old filter out." + FILLER_EN * 3},
        {"id": "p1", "source_id": "manual", "section": "Replacing the filter", "score": 0.5,
         "text": "1. Switch the pump off." + FILLER_EN * 3},
        {"id": "p3", "source_id": "manual", "section": "Replacing the filter", "score": 0.3,
         "text": "3. Fasten both screws." + FILLER_EN * 3},
        {"id": "pre", "source_id": "manual", "section": "Before you begin", "score": 0.1,
         "text": "Wear gloves and have a key of 8 mm ready." + FILLER_EN},
        {"id": "o1", "source_id": "faq", "score": 0.8, "text": "The filter of the press is grey." + FILLER_EN * 4},
        {"id": "o2", "source_id": "sheet", "score": 0.7, "text": "How press and filter were built." + FILLER_EN * 4},
    ],
)  # fmt: skip
ZH: Case = (
    "如何更换压机的滤芯？",
    [
        {"id": "ad", "source_id": "shop", "score": 0.2, "text": "更换压机的滤芯？不如换一台新压机。" + FILLER_ZH},
        {"id": "p2", "source_id": "manual", "section": "更换滤芯", "score": 0.9,
         "text": "2. 打开压机，取出旧滤芯。" + FILLER_ZH * 3},
        {"id": "p1", "source_id": "manual", "section": "更换滤芯", "score": 0.5,
         "text": "1. 关闭水泵。" + FILLER_ZH * 3},
        {"id": "p3", "source_id": "manual", "section": "更换滤芯", "score": 0.3,
         "text": "3. 拧紧螺丝。" + FILLER_ZH * 3},
        {"id": "pre", "source_id": "manual", "section": "准备工作", "score": 0.1,
         "text": "佩戴手套，准备8毫米扳手。" + FILLER_ZH},
        {"id": "o1", "source_id": "faq", "score": 0.8, "text": "压机的滤芯是灰色的。" + FILLER_ZH * 4},
        {"id": "o2", "source_id": "sheet", "score": 0.7, "text": "压机与滤芯的制造过程。" + FILLER_ZH * 4},
    ],
)  # fmt: skip
SECTION = {"p1", "p2", "p3"}


@pytest.mark.parametrize(("case", "ceiling"), [(EN, 390), (ZH, 400)], ids=["en", "zh"])
def test_a_procedure_with_its_prerequisites_before_anything_else(case, ceiling):
    on, off = with_and_without("how_to", case[0], case[1], ceiling=ceiling)
    assert set(on) >= SECTION | {"pre"}
    assert not set(off) >= SECTION | {"pre"}


@pytest.mark.parametrize(("case", "ceiling"), [(EN, 190), (ZH, 200)], ids=["en", "zh"])
def test_or_none_of_it(case, ceiling):
    on, off = with_and_without("how_to", case[0], case[1], ceiling=ceiling)
    assert not set(on) & SECTION
    assert set(off) & SECTION


def whole(documents, **rest):
    given = job(passages(documents), question="How is the filter replaced?", **rest)
    packing = drive(pack(given, packers.load("cover")))
    sides = [one.passage.document.position for one in packing.admitted]
    sides += [one.passage.document.position for one in packing.dropped]
    assert sorted(sides) == list(range(len(documents)))
    return packing, {one.passage.document.id for one in packing.admitted}


STEPS = [
    {"text": "Open the filter and take it out, slowly.", "source_id": "m", "section": "Filter replaced", "score": 0.9},
    {"text": "Put a new one in and close the lid.", "source_id": "m", "section": "Filter replaced", "score": 0.8},
]


def test_a_section_that_a_gate_takes_a_part_of_goes():
    packing, ids = whole(STEPS, per_source=1)
    assert ids == set()
    assert packing.lacks == "no section fits whole"
    assert {one.detail for one in packing.dropped} >= {"there is no room for all of its section"}


def test_a_prerequisite_that_does_not_fit_is_missed():
    first = {"text": "Gloves. " * 40, "source_id": "m", "section": "Prerequisites", "score": 0.1}
    packing, ids = whole([*STEPS, first, {**first, "text": "A key. " * 40}], budget=80)
    assert ids == {"d0", "d1"}
    assert packing.lacks == "a prerequisite of the procedure is missing"
    assert packing.dropped[0].detail.endswith("too many")


def test_what_the_procedure_names_is_its_prerequisite():
    named = {"text": "Turn the red wheel.", "title": "Draining the tank", "source_id": "t", "score": 0.0}
    other = {"text": "The filter is replaced by filter people.", "source_id": "o", "score": 0.7}
    steps = [{**STEPS[0], "text": "Draining the tank comes first, then open the filter."}, STEPS[1], other, named]
    assert whole(steps, max_passages=3)[1] == {"d0", "d1", "d3"}


def test_a_passage_that_is_nobody_s_chunk_may_be_shortened():
    long = {"text": "The filter is replaced. " + "Nothing of this matters here at all. " * 20, "score": 0.9}
    packing, ids = whole([long], budget=40)
    assert ids == {"d0"}
    assert packing.admitted[0].form == "excerpt"


def test_nothing_comes_of_nothing():
    assert whole([])[1] == set()


def test_what_is_missing_is_said_in_the_decision():
    question, documents = EN
    policy = with_class("how_to", ceiling=150)
    decision = packed(question, [one for one in documents if one["id"] in SECTION], policy).decision
    assert decision.evidence_sufficient is False
    assert decision.lacks
