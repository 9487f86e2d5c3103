"""Copies, pieces and versions; and that many texts are compared as cheaply as few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.text import Text
from elbowroom.decide.alike import CROWD, LIKELY, Alike, containment, likeness, names_exception
from elbowroom.decide.passage import Passage
from tests.neardup import CHANGES, PLAIN
from tests.passages import passage

SENTENCES = (
    "Refunds are made within 7 days.", "Annual plans, e.g. Team, are refunded in part.", "Write to the U.S. desk.",
    "It costs 3.5 dollars.", "退款将在七天内完成。", "年度套餐按比例退款！", "Dr. Lee answers; ask her.",
)  # fmt: skip
BODY = "The desk keeps every form for a year. It answers each letter in the order in which they come. "


def kind(text: str, other: str) -> str | None:
    like = likeness(Text.of(text), Text.of(other))
    return None if like is None else like.kind


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("form", [str.upper, lambda text: text.replace(". ", ".\n"), lambda text: f"**{text}**"])
def test_formatting_makes_no_difference(text, form):
    assert kind(form(text), text) == kind(text, form(text)) == "same"


def test_a_sentence_that_is_cut_elsewhere_is_the_same_sentence():
    text = "Ask Dr. Lee in Washington D.C. about the U.S. rules. She wrote them."
    split = "Ask Dr.\nLee in Washington D.\nC. about the U.\nS. rules.\nShe wrote them."
    wrapped = "Ask Dr. Lee in\nWashington D.C. about\nthe U.S. rules. She wrote\nthem."
    assert kind(split, text) == kind(text, split) == kind(wrapped, text) == kind(text, wrapped) == "same"
    assert kind(wrapped, split) == kind(split, wrapped) == "same"
    assert kind("Lee in\nWashington D.C. about\nthe U.S. rules.\nShe wrote them.", text) == "within"


def test_a_last_sentence_without_its_stop_runs_into_what_is_moved_behind_it():
    text, moved = "One thing is said here. Another is said there", "Another is said there One thing is said here."
    assert kind(text, moved) == kind(moved, text) == "same"


def test_a_decimal_that_is_cut_by_a_line_is_the_same_number():
    assert kind(f"{BODY}It costs 3.\n5 dollars.", f"{BODY}It costs 3.5 dollars.") == "same"


@pytest.mark.parametrize(("first", "second"), CHANGES)
def test_a_changed_word_is_no_copy(first, second):
    assert {kind(first, second), kind(second, first)} <= {None, "version"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It starts at 5 degrees.", "It starts at -5 degrees."),
        ("We write C code.", "We write C++ code."),
        ("यह कि है।", "यह की है।"),
    ],
)
def test_what_a_normal_form_loses_still_counts(first, second):
    assert kind(BODY + first, BODY + second) == "version"


@pytest.mark.parametrize(
    ("plain", "more"),
    [
        ("Refunds are\navailable.", "Refunds are\nnot\navailable."),
        ("可以\n退款。", "可以\n不\n退款。"),
        ("We sell in the U.S. through partners.", "We sell in the U.S. only. through partners."),
        ("It weighs 3. That is all.", "It weighs 3.5. That is all."),
    ],
)
def test_what_is_added_inside_a_sentence_is_no_sentence(plain, more):
    assert kind(BODY + more, BODY + plain) == kind(BODY + plain, BODY + more) == "version"


@pytest.mark.parametrize(
    "more",
    ["{} That is all.", "{}\n\nhelp", "Home\n\n{}", "{}\n- see also fees", "{}\n| a | b |", "{}\nAbout us", "{} 完。"],
)
def test_what_is_added_as_a_sentence_is_one(more):
    assert kind(more.format(BODY), BODY) == "around"
    assert kind(BODY, more.format(BODY)) == "within"


def test_what_is_its_own_is_told_by_place():
    text = Text.of("Refunds take a week. That was decided in May.")
    like = likeness(text, Text.of("Refunds take a week."))
    assert like is not None
    assert [text.clean[start:end].strip() for start, end in like.own] == ["That was decided in May"]


def test_a_piece_cut_out_inside_a_sentence_is_neither_copy_nor_version():
    whole = BODY + "Then it keeps them for another year, in a box."
    assert kind(whole[4:-12], whole) is None
    assert kind(whole[:-12], whole) is None
    assert kind(whole, whole[:-12]) is None


@pytest.mark.parametrize("changed", [BODY.strip().rstrip(".") + ", send your card number first.", f"Never: {BODY}"])
def test_a_whole_sentence_that_goes_on_is_another_version_of_it(changed):
    assert kind(changed, BODY) == kind(BODY, changed) == "version"


def test_texts_that_have_little_in_common_are_apart():
    assert kind("Refunds take a week. Ask the desk.", "Refunds take a week. Plans renew in May.") is None
    assert containment(Text.of(""), Text.of("Something.")) == 0.0


@pytest.mark.parametrize(
    "text",
    ["Gifts are excluded, except in May.", "It holds unless revoked.", "礼品除外。", "除周日外开放。", "例外：礼品。"],
)
def test_exceptions_are_named(text):
    read = Text.of(f"It is so. {text}")
    assert names_exception(read)
    assert names_exception(read, [(9, len(read.clean))])
    assert not names_exception(read, [(0, 9)])


@given(st.permutations(SENTENCES), st.sets(st.integers(0, len(SENTENCES) - 1), min_size=1), st.sampled_from(" \n"))
def test_any_choice_of_whole_sentences_is_within(order, chosen, space):
    whole = Text.of(" ".join(SENTENCES))
    part = Text.of(space.join(order[at] for at in sorted(chosen)))
    like = likeness(part, whole)
    assert like is not None
    assert like.kind == ("same" if len(chosen) == len(SENTENCES) else "within")


@given(st.lists(st.sampled_from(SENTENCES), max_size=5), st.lists(st.sampled_from(SENTENCES), max_size=5), st.text())
def test_both_sides_tell_the_same_story(first, second, more):
    one, two = Text.of(" ".join(first) + more), Text.of(" ".join(second))
    there, back = likeness(one, two), likeness(two, one)
    opposite = {"same": "same", "within": "around", "around": "within", "version": "version"}
    assert (back and back.kind) == (there and opposite[there.kind])


def test_the_index_finds_what_a_comparison_of_all_would():
    alike = Alike()
    kept: list[Passage] = []
    for text in dict.fromkeys((*SENTENCES, " ".join(SENTENCES), *PLAIN, *(first for first, _ in CHANGES[:60]))):
        one = passage(text)
        found = alike.near(one.text, kept)
        assert alike.near(one.text, kept) is found
        copies = {at for at, other in enumerate(kept) if (kind(text, other.text.clean) or "version") != "version"}
        assert copies <= {at for at, _ in found} or len(found) == LIKELY
        kept.append(one)


def test_a_footer_that_all_have_leads_nowhere_and_hides_nothing():
    footer = "This page is provided as it is, without any warranty."
    kept = [
        passage(f"Section {at} tells all about item {at}. It is {at} cm long. {footer}", position=at)
        for at in range(CROWD + 5)
    ]
    last = CROWD + 4
    text = Text.of(f"Section {last} tells all about item {last}. It is {last} cm long.")
    assert [(at, like.kind) for at, like in Alike().near(text, kept)] == [(last, "within")]
    assert all(like.kind == "within" for _, like in Alike().near(Text.of(footer), kept))
