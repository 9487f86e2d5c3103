"""A comparison has room for each option, and for what speaks of both."""

from __future__ import annotations

import pytest

from elbowroom.decide import packers
from elbowroom.decide.rules.each_option import pack
from tests.passages import drive, job, passages
from tests.rules import Case, with_and_without

EN: Case = (
    "What is the difference between the Basic plan and the Pro plan in storage?",
    [
        *(
            {"id": f"pro-{at}", "source_id": f"pro-{at}", "score": 1 - at / 20,
             "text": f"The Pro plan in storage, part {at}: plan, storage and difference, {at} times told."}
            for at in range(6)
        ),
        {"id": "basic", "source_id": "basic", "score": 0.1, "text": "Basic: 5 GB are included."},
        {"id": "both", "source_id": "both", "score": 0.05, "text": "Storage is measured alike in Basic and in Pro."},
    ],
)  # fmt: skip
ZH: Case = (
    "基础版和专业版的存储空间有什么区别？",
    [
        *(
            {"id": f"pro-{at}", "source_id": f"pro-{at}", "score": 1 - at / 20,
             "text": f"专业版的存储空间说明之{at}：专业版的存储空间区别于其他，详见第{at}章。"}
            for at in range(6)
        ),
        {"id": "basic", "source_id": "basic", "score": 0.1, "text": "基础版：含5GB。"},
        {"id": "both", "source_id": "both", "score": 0.05, "text": "基础版与专业版的计量方式相同。"},
    ],
)  # fmt: skip


@pytest.mark.parametrize("case", [EN, ZH], ids=["en", "zh"])
def test_every_option_has_room_and_so_has_what_they_share(case):
    on, off = with_and_without("comparison", case[0], case[1], ceiling=140)
    assert {"basic", "both"} < set(on)
    assert any(one.startswith("pro-") for one in on)
    assert not {"basic", "both"} <= set(off)


def each(documents, question="Which is cheaper, Basic or Pro?", **rest):
    packing = drive(pack(job(passages(documents), question=question, **rest), packers.load("cover")))
    return packing, {one.passage.document.id: one for one in packing.admitted}


def test_a_long_one_leaves_the_other_its_share():
    long = "Pro is cheaper than it was. " + "Nobody asked for this sentence here. " * 20
    packing, ids = each(
        [{"text": long, "score": 0.9}, {"text": "Basic costs 5 euro a month.", "score": 0.1}], budget=60
    )
    assert set(ids) == {"d0", "d1"}
    assert ids["d0"].form == "excerpt"
    assert ids["d0"].tokens <= 30
    assert packing.lacks == ""


def test_an_option_without_evidence_is_missed():
    packing, _ = each([{"text": "Pro costs 9 euro.", "score": 0.9}])
    assert packing.lacks == "1 of 2 options have no evidence"


def test_one_passage_may_speak_for_both():
    packing, ids = each([{"text": "Basic costs 5 euro, Pro 9.", "score": 0.9}])
    assert (set(ids), packing.lacks) == ({"d0"}, "")


def test_without_options_it_does_nothing():
    documents = [{"text": "Pro costs 9 euro.", "score": 0.9}, {"text": "Basic costs 5 euro.", "score": 0.1}]
    given = job(passages(documents), question="What are the differences?")
    cover = packers.load("cover")
    assert drive(pack(given, cover)) == drive(cover(given))
