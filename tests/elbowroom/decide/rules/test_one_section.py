"""A point lookup is answered from one section of the source that has the say, and verified once."""

from __future__ import annotations

import pytest

from elbowroom.decide import packers
from elbowroom.decide.rules.one_section import pack
from tests.passages import drive, job, passages
from tests.rules import Case, with_and_without

EN: Case = (
    "How many days of annual leave does a part-time employee get?",
    [
        {"id": "forum-1", "source_id": "forum", "text": "A part-time employee gets ten days of annual leave, I heard."},
        {
            "id": "blog-1",
            "source_id": "blog",
            "text": "Part-time employees: annual leave was five days in the old days.",
        },
        {
            "id": "hr-2",
            "source_id": "hr",
            "section": "Leave",
            "text": "A part-time employee gets 14 days of annual leave.",
        },
        {
            "id": "wiki-1",
            "source_id": "wiki",
            "text": "Annual leave of a part-time employee is decided by the employer.",
        },
        {
            "id": "hr-3",
            "source_id": "hr",
            "section": "Leave",
            "text": "Days of annual leave that are left expire in March.",
        },
        {"id": "mail-1", "source_id": "mail", "text": "Does a part-time employee get days of annual leave at all?"},
    ],
)
ZH: Case = (
    "兼职员工的年假有多少天？",
    [
        {"id": "forum-1", "source_id": "forum", "text": "听说兼职员工的年假是十天。"},
        {"id": "blog-1", "source_id": "blog", "text": "以前兼职员工的年假只有五天。"},
        {"id": "hr-2", "source_id": "hr", "section": "休假", "text": "兼职员工的年假为14天。"},
        {"id": "wiki-1", "source_id": "wiki", "text": "兼职员工的年假天数由雇主决定。"},
        {"id": "hr-3", "source_id": "hr", "section": "休假", "text": "未使用的年假于三月作废，兼职员工亦同。"},
        {"id": "mail-1", "source_id": "mail", "text": "兼职员工到底有没有年假？"},
    ],
)


@pytest.mark.parametrize("case", [EN, ZH], ids=["en", "zh"])
def test_one_section_and_one_to_verify_it_by(case, monkeypatch):
    question, documents = case
    on, off = with_and_without("point_lookup", question, documents)
    sources = {one["id"]: one["source_id"] for one in documents}
    others = {sources[one] for one in on} - {sources[on[0]]}
    assert len(others) == 1
    assert len(on) <= 3
    assert len({sources[one] for one in off}) > 3  # without the rule: whoever says something of it


AUTHORITY = [
    {"text": "The limit is 500 euro.", "source_id": "forum", "score": 0.9},
    {"text": "The limit is 300 euro.", "source_id": "policy", "section": "Limits", "score": 0.8, "authority": 0.9},
    {"text": "Above the limit of 300 euro ask the board.", "source_id": "policy", "section": "Limits", "score": 0.3,
     "authority": 0.9},
    {"text": "The limit is 400 euro.", "source_id": "blog", "score": 0.7},
    {"text": "Bread is baked on Mondays.", "source_id": "bakery", "score": 0.6, "authority": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(packers.NAMES))
def test_registered_authority_decides_among_those_that_speak_of_the_question(name):
    packing = drive(pack(job(passages(AUTHORITY), question="What is the limit in euro?"), packers.load(name)))
    ids = [one.passage.document.id for one in packing.admitted]
    assert ids[:2] in (["d1", "d2"], ["d2", "d1"])
    assert len(ids) == 3
    assert sorted(ids + [one.passage.document.id for one in packing.dropped]) == ["d0", "d1", "d2", "d3", "d4"]


def test_the_number_beside_the_section_is_the_policy_s():
    for beside in (0, 2):
        given = job(passages(AUTHORITY), question="What is the limit in euro?", beside_section=beside)
        packing = drive(pack(given, packers.load("cover")))
        assert len(packing.admitted) == 2 + beside


def test_nothing_comes_of_nothing():
    assert drive(pack(job([]), packers.load("cover"))).admitted == ()
