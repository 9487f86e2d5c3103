"""What another passage says already: equal, contained in whole sentences, or copied with little added."""

from __future__ import annotations

import pytest

from elbowroom.decide.gates.duplicate import build
from elbowroom.decide.passage import Passage, Refusal, Room
from tests.neardup import ATTACKS, CHANGES, PLAIN
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
@pytest.mark.parametrize("part", [(0,), (1, 2), (2,), (0, 2), (2, 0)])
def test_contained_in_whole_sentences_in_whatever_order(sentences, part):
    kept = [passage("Nothing to do with it, this one.", position=1), passage(" ".join(sentences))]
    refusal = ask(kept, " ".join(sentences[at] for at in part))
    assert refusal is not None
    assert (refusal.repeats, refusal.detail) == (kept[1], "contained whole in d0")


@pytest.mark.parametrize(
    "text",
    [
        "Refunds are made within 7",  # not from border to border
        "are made within 7 days.",
        "Refunds are made within 15 days.",  # one number
        "Refunds are made within 7.5 days.",
        "Refunds are not made within 7 days.",
        f"{EN[0]} And one more thing that nobody said before.",  # one sentence of its own, one of the other's
    ],
)
def test_anything_else_stays(text):
    assert ask([passage(" ".join(EN))], text) is None


def test_a_copy_with_a_page_s_head_and_foot_says_nothing_new():
    kept = [passage(" ".join(EN))]
    refusal = ask(kept, f"Home > Help > Docs\n\n{' '.join(EN)}\n\nHelpful?")
    assert refusal is not None
    assert (refusal.repeats, refusal.detail) == (kept[0], "copy of d0 with 2 stretches added")


@pytest.mark.parametrize("authority", [0.5, 0.9])
def test_one_that_contains_an_earlier_one_and_says_much_more_stays(authority):
    assert ask([passage(EN[0], authority=authority)], " ".join((*EN, *ZH))) is None


def test_an_exception_that_is_added_is_worth_its_sentence_among_equals():
    text = f"{' '.join(EN)} Gifts are an exception."
    assert ask([passage(" ".join(EN))], text) is None
    assert ask([passage(" ".join(EN), authority=0.9)], text) is not None


@pytest.mark.parametrize(("first", "second"), [*CHANGES, *((b, a) for a, b in CHANGES)])
def test_a_changed_word_is_never_merged(first, second):
    assert ask([passage(first)], second) is None
    assert ask([passage(first, authority=0.9)], second) is None


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_registered_source_is_never_replaced_by_a_copy_with_a_sentence_added(text, attack):
    source, copy = passage(text, authority=0.9), f"{text} {attack}"
    refusal = ask([source], copy)
    assert refusal is not None
    assert refusal.repeats is source


def test_there_are_a_hundred_pairs():
    assert len(set(CHANGES)) + len(PLAIN) * len(ATTACKS) >= 100


def test_a_very_short_text_says_what_it_says_under_its_title():
    kept = [passage("30 days.", title="Annual plans")]
    assert ask(kept, "30 days.", title="Monthly plans") is None
    assert ask(kept, "30 days.", title="Annual plans") is not None
    assert ask([passage("30 days. That holds for all plans that we sell.")], "30 days.") is None
    assert ask(kept, "30 days. That holds for all plans that we sell.") is None


def test_signs_without_letters_are_compared_as_they_are():
    assert ask([passage("***")], "---") is None
    assert ask([passage("***")], "***") is not None


def test_it_remembers_what_was_let_in_between_two_questions():
    kept: list[Passage] = []
    gate = build(limits())
    for at, sentence in enumerate((*EN, "Yes.")):
        one = passage(sentence, position=at)
        assert gate(one, Room(kept)) is None
        kept.append(one)
    assert all(gate(passage(sentence), Room(kept)) is not None for sentence in (*EN, "Yes."))
