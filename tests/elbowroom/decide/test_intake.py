"""What a packer may rely on: one side each, gates in order, the budget, the cap of one passage."""

from __future__ import annotations

import pytest

from elbowroom.decide.intake import Intake
from elbowroom.needs import NeedCounts
from elbowroom.records import Drop
from tests.passages import drive, gates_of, job, limits, passage

LONG = "The first sentence is here. The second one asks for a refund. The third one ends it all. The fourth is spare."


def test_what_fits_is_let_in_whole_and_paid_for():
    one = passage(LONG)
    intake = Intake(job([one], budget=one.tokens))
    assert drive(intake.offer(one)) is None
    assert intake.left == 0
    packing = intake.packing()
    assert [(a.passage, a.body, a.tokens, a.spans) for a in packing.admitted] == [(one, LONG, one.tokens, ())]
    assert packing.dropped == ()


def test_the_budget_holds_without_its_gate():
    one = passage(LONG)
    intake = Intake(job([one], budget=one.tokens - 1, gates=()))
    assert drive(intake.offer(one)) is Drop.OVER_BUDGET
    assert intake.packing().dropped[0].detail.startswith("1 tokens too many")


def test_the_first_gate_that_minds_gives_the_reason():
    numbers = limits(max_passages=0)
    for names, reason in (
        (("over_count", "over_budget"), Drop.OVER_COUNT),
        (("over_budget", "over_count"), Drop.OVER_BUDGET),
    ):
        one = passage(LONG)
        intake = Intake(job([one], budget=1, gates=gates_of("pack", numbers, *names)))
        assert drive(intake.offer(one)) is reason


def test_without_room_it_is_shortened_only_where_the_packer_wants_that():
    one = passage(LONG)
    some = job([one], question="refund", budget=one.tokens - 10)
    assert drive(Intake(some).offer(one)) is Drop.OVER_BUDGET
    intake = Intake(some)
    assert drive(intake.offer(one, shorten=True)) is None
    (admitted,) = intake.packing().admitted
    assert admitted.spans
    assert "The second one asks for a refund." in admitted.body
    assert 0 <= intake.left == some.budget - admitted.tokens


def test_what_was_shortened_must_still_pass_the_gates_behind():
    one = passage(LONG)
    numbers = limits(max_passages=0)
    gates = gates_of("pack", numbers, "over_budget", "over_count")
    intake = Intake(job([one], budget=one.tokens - 10, gates=gates))
    assert drive(intake.offer(one, shorten=True)) is Drop.OVER_COUNT
    assert intake.packing().admitted == ()


def test_a_passage_over_the_cap_is_shortened_in_any_case():
    one = passage(LONG)
    intake = Intake(job([one], question="refund", max_passage_tokens=one.tokens - 10))
    assert drive(intake.offer(one)) is None
    assert intake.packing().admitted[0].tokens <= one.tokens - 10


def test_a_passage_over_the_cap_without_a_short_sentence_says_by_how_much():
    one = passage("word " * 50)
    intake = Intake(job([one], max_passage_tokens=30))
    assert drive(intake.offer(one)) is Drop.OVER_BUDGET
    assert (
        intake.packing().dropped[0].detail == f"{one.tokens - 30} tokens over the 30 of a passage, and no sentence fits"
    )


def test_less_than_the_shortest_excerpt_is_none():
    one = passage(LONG)
    room = one.tokens - 5
    for least, reason in ((room - one.tag_tokens, None), (room - one.tag_tokens + 1, Drop.OVER_BUDGET)):
        intake = Intake(job([one], budget=room, min_excerpt_tokens=least))
        assert drive(intake.offer(one, shorten=True)) is reason


def test_what_no_gate_would_let_in_is_not_counted():
    asked: list[NeedCounts] = []
    one = passage(LONG)
    intake = Intake(job([one], max_passages=0, max_passage_tokens=20))
    assert drive(intake.offer(one, shorten=True), asked) is Drop.OVER_COUNT
    assert asked == []


def test_after_a_few_that_cannot_be_shortened_nobody_tries():
    stubborn = [passage("word " * 50, position=at) for at in range(4)]
    last = passage(LONG, position=4)
    intake = Intake(job([*stubborn, last], budget=last.tokens - 10))
    assert [drive(intake.offer(one, shorten=True)) for one in stubborn] == [Drop.OVER_BUDGET] * 4
    assert drive(intake.offer(last, shorten=True)) is Drop.OVER_BUDGET


@pytest.mark.parametrize(("reranked", "seen"), [(False, 3), (True, 2)])
def test_a_reranker_decides_whom_a_packer_sees(reranked, seen):
    some = [passage(position=at) for at in range(3)]
    intake = Intake(job(some, reranked=reranked, rerank_keep=2))
    assert len(intake.candidates()) == seen
    assert [one.detail for one in intake.packing().dropped] == ["ranked below the best 2"] * (3 - seen)


def test_a_term_is_worth_more_the_fewer_have_it():
    some = [passage("refund plan", position=0), passage("refund", position=1), passage("x", position=2, title="Refund")]
    intake = Intake(job(some, question="refund plan nobody"))
    assert intake.speaking == {"refund": [0, 1, 2], "plan": [0], "nobody": []}
    assert intake.weights.keys() == {"refund", "plan"}
    assert intake.weights["plan"] > intake.weights["refund"] > 0


def standing_for(*short: str, **known):
    """A long passage, and shorter ones that were dropped because it says all of theirs."""
    contained = tuple(passage(text, position=at, rank=at) for at, text in enumerate(short, start=1))
    return passage(LONG, contained=contained, **known), contained


def test_who_was_dropped_for_one_that_goes_in_whole_stays_out():
    one, _ = standing_for("The third one ends it all.")
    intake = Intake(job([one]))
    assert drive(intake.offer(one)) is None
    assert [a.passage for a in intake.packing().admitted] == [one]


def test_who_was_dropped_for_one_that_finds_no_room_has_its_turn():
    one, (short, again, _) = standing_for("The third one ends it all.", "The third one ends it all!", LONG[:80])
    intake = Intake(job([one], budget=short.tokens + again.tokens))
    assert drive(intake.offer(one)) is Drop.OVER_BUDGET
    assert [a.passage for a in intake.packing().admitted] == [short]
    assert intake.left == again.tokens
    assert [d.passage for d in intake.packing().dropped] == [one]


@pytest.mark.parametrize(
    ("text", "goes_in"), [("The second one asks for a refund.", False), ("The fourth is spare.", True)]
)
def test_who_was_dropped_for_one_that_is_shortened_has_its_turn_unless_the_excerpt_says_it(text, goes_in):
    one, (short,) = standing_for(text)
    intake = Intake(job([one], question="refund", max_passage_tokens=one.tokens - 10))
    assert drive(intake.offer(one)) is None
    assert [a.passage for a in intake.packing().admitted] == ([one, short] if goes_in else [one])


def test_the_cap_of_a_passage_holds_for_its_turn():
    one, _ = standing_for("The third one ends it all.")
    intake = Intake(job([one], max_passage_tokens=4))
    assert drive(intake.offer(one)) is Drop.OVER_BUDGET
    assert intake.packing().admitted == ()


def test_a_parent_that_was_let_in_is_not_said_again():
    parent = passage("The second one asks for a refund. More of it.", id="p", position=1)
    child = passage(LONG, parent_id="p", anchor="second")
    for first, form in ((parent, "excerpt"), (child, "parent")):
        intake = Intake(job([parent, child], question="refund", max_passage_tokens=child.tokens - 10))
        drive(intake.offer(first))
        drive(intake.offer(child))
        assert intake.packing().admitted[-1].form == form
