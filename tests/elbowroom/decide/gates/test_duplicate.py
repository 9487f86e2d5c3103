"""What another passage says already: equal, or contained whole from sentence border to sentence border."""

from __future__ import annotations

import pytest

from elbowroom.decide.gates.duplicate import BOILERPLATE, build
from elbowroom.decide.passage import Passage, Refusal, Room
from tests.passages import limits, passage

EN = ("Refunds are made within 7 days.", "Annual plans are refunded in part.", "Write to the desk to ask for one.")
ZH = ("退款将在七天内完成。", "年度套餐按比例退款。", "请写信给服务台申请。")


def ask(kept: list[Passage], text: str, **known) -> Refusal | None:
    return build(limits())(passage(text, position=9, **known), Room(kept))


@pytest.mark.parametrize("sentences", [EN, ZH])
def test_equal_but_for_case_punctuation_and_space(sentences):
    kept = [passage(" ".join(sentences), title="Policy")]
    text = "\n".join(sentences).upper().replace(".", "!").replace("。", "！")
    refusal = ask(kept, text, title="Another title")
    assert refusal is not None
    assert (refusal.repeats, refusal.detail) == (kept[0], "same text as d0")


@pytest.mark.parametrize("sentences", [EN, ZH])
@pytest.mark.parametrize("part", [slice(0, 1), slice(1, 3), slice(2, 3)])
def test_contained_whole(sentences, part):
    kept = [passage("Nothing to do with it, this one.", position=1), passage(" ".join(sentences))]
    refusal = ask(kept, " ".join(sentences[part]))
    assert refusal is not None
    assert (refusal.repeats, refusal.detail) == (kept[1], "contained whole in d0")


@pytest.mark.parametrize(
    "text",
    [
        "Refunds are made within 7",  # not from border to border
        "are made within 7 days.",
        "Refunds are made within 15 days.",  # one number
        "Refunds are not made within 7 days.",
        f"{EN[0]} {EN[2]}",  # with a gap
        f"{EN[1]} {EN[0]}",  # in another order
        f"{EN[0]} And one more thing.",  # it says more
    ],
)
def test_anything_else_stays(text):
    assert ask([passage(" ".join(EN))], text) is None


def test_one_that_contains_an_earlier_one_and_says_more_stays():
    assert ask([passage(EN[0])], " ".join(EN)) is None


def test_a_very_short_text_says_what_it_says_under_its_title():
    kept = [passage("30 days.", title="Annual plans")]
    assert ask(kept, "30 days.", title="Monthly plans") is None
    assert ask(kept, "30 days.", title="Annual plans") is not None
    assert ask([passage("30 days. That holds for all plans that we sell.")], "30 days.") is None


def test_signs_without_letters_are_compared_as_they_are():
    assert ask([passage("***")], "---") is None
    assert ask([passage("***")], "***") is not None


def test_a_sentence_that_all_have_costs_no_more_than_a_few_looks():
    footer = "This page is provided as it is, without any warranty."
    kept = [passage(f"Section {at} tells about item {at}. {footer}", position=at) for at in range(BOILERPLATE + 5)]
    last = kept[-1]
    assert last.document.text is not None
    # By its rarer sentence the last one is still found; the footer alone is found in one of the first.
    assert ask(kept, f"Section {BOILERPLATE + 4} tells about item {BOILERPLATE + 4}.") is not None
    refusal = ask(kept, footer)
    assert refusal is not None
    assert refusal.repeats is kept[0]


def test_it_remembers_what_was_let_in_between_two_questions():
    kept: list[Passage] = []
    gate = build(limits())
    for at, sentence in enumerate(EN):
        one = passage(sentence, position=at)
        assert gate(one, Room(kept)) is None
        kept.append(one)
    assert all(gate(passage(sentence), Room(kept)) is not None for sentence in EN)
