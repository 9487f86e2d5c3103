from __future__ import annotations

from elbowroom.decide.tiers import in_tiers, names, section_of, shares
from tests.passages import job, passage, passages


def test_shares_are_of_the_question_s_weight():
    given = job(passages([{"text": "red green"}, {"text": "red"}, {"text": "blue"}]), question="red green")
    told = shares(given)
    assert told[0] == 1.0
    assert 0 < told[1] < 0.5  # red is the more common of the two
    assert told[2] == 0.0


def test_a_question_that_nobody_speaks_of_has_no_shares():
    assert shares(job(passages([{"text": "red"}]), question="violet")) == {0: 0.0}
    assert shares(job([], question="violet")) == {}


def test_a_lower_tier_stands_before_a_better_rank():
    given = in_tiers(job(passages([{"text": "a"}, {"text": "b"}, {"text": "c"}])), lambda one: one.rank == 0, {1: 9})
    assert [(one.document.id, one.tier, one.most) for one in given.passages] == [
        ("d1", 0, 9), ("d2", 0, None), ("d0", 1, None),
    ]  # fmt: skip


def test_names_are_in_text_or_title():
    one = passage("The Basic plan.", title="Prices")
    assert names(one, {"basic", "pric"}) == 1.0
    assert names(one, {"basic", "pro"}) == 0.5


def test_a_section_is_by_parent_then_by_heading_else_itself():
    assert section_of(passage(parent_id="p", section="s", source_id="a")) == ("parent", "p")
    assert section_of(passage(section="s", source_id="a")) == ("section", "a", "s")
    assert section_of(passage(position=3)) == ("alone", "3")
