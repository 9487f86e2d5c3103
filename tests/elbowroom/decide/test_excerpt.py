"""An excerpt is made of whole units of its source, in order, and costs what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.decide.excerpt import ELISION, Excerpt, excerpt, join
from elbowroom.needs import NeedCounts
from tests.passages import VOCABULARY, drive, tokens

EN = (
    "The plan is sold by the year. It renews on the first of May. Nobody likes to be surprised by that. "
    "A refund is paid within seven days. It goes to the card that was used. The desk answers questions at noon."
)
ZH = "套餐按年出售。五月一日自动续订。没有人喜欢意外。退款在七天内支付。款项退回原卡。服务台中午回答问题。"
TABLE = """Prices as of May, all of them without tax.

| Plan | Price |
| --- | --- |
| Small | 10 |
| Large | 30 |
| Huge | 90 |

Ask the desk for anything else."""


def cut(text: str, question: str, room: int, asked: list[NeedCounts] | None = None) -> Excerpt | None:
    read = Text.of(text)
    weights = dict.fromkeys(Text.of(question).terms, 1.0)
    return drive(excerpt(read, tokens(read.clean + "\n"), weights, room, Tally(VOCABULARY)), asked)


def test_the_sentence_that_the_question_asks_for_and_the_one_behind_it():
    found = cut(EN, "When is a refund paid?", 26)
    assert found is not None
    assert found.body == f"{ELISION} A refund is paid within seven days. It goes to the card that was used. {ELISION}"


def test_in_chinese():
    found = cut(ZH, "退款几天内支付？", 26)
    assert found is not None
    assert found.body == f"{ELISION} 退款在七天内支付。款项退回原卡。 {ELISION}"


def test_what_stands_apart_is_marked_between():
    found = cut(EN, "the year; the card", 30)
    assert found is not None
    assert found.body == (f"The plan is sold by the year. {ELISION} It goes to the card that was used. {ELISION}")


def test_a_question_that_says_nothing_gets_the_beginning():
    found = cut(EN, "", 14)
    assert found is not None
    assert found.body == f"The plan is sold by the year. {ELISION}"


def test_a_row_keeps_its_header_and_its_line():
    found = cut(TABLE, "How much is Huge?", 36)
    assert found is not None
    assert found.body == f"{ELISION}\n| Plan | Price |\n| --- | --- |\n{ELISION}\n| Huge | 90 |\n{ELISION}"


def test_no_room_for_the_shortest_sentence():
    assert cut(EN, "refund", 3) is None


def test_a_text_of_one_long_sentence_has_no_excerpt():
    assert cut("word " * 300, "word", 20) is None


def test_two_questions_and_nothing_that_others_should_remember():
    asked: list[NeedCounts] = []
    assert cut(EN, "refund", 24, asked) is not None
    assert len(asked) == 2
    assert {(need.vocabulary, need.recurring) for need in asked} == {(VOCABULARY, False)}


def test_of_a_very_long_text_only_the_most_telling_units_are_counted():
    asked: list[NeedCounts] = []
    found = cut(EN + " Something else is said in this sentence." * 500, "refund", 24, asked)
    assert found is not None
    assert "A refund is paid within seven days." in found.body
    assert len(asked[0].texts) < 20


def test_a_mark_that_costs_more_than_expected_makes_the_next_shorter_choice_win():
    # Five units apart, each with a mark of three tokens where two are reckoned with.
    text = " ".join(f"Refund {at} is here. Nothing is said of it in this one at all." for at in range(6))
    asked: list[NeedCounts] = []
    for room in range(10, 60):
        found = cut(text, "refund", room, asked)
        assert found is None or found.tokens <= room
    assert any(len(need.texts) > 1 for need in asked[1::2])


@pytest.mark.parametrize("text", [EN, ZH, TABLE])
def test_the_whole_text_is_joined_without_marks(text):
    read = Text.of(text)
    assert join(read.clean, ((0, len(read.clean)),)) == read.clean


pieces = st.sampled_from(
    ["A refund is paid. ", "It costs 3.14 dollars. ", "“Why?” he asked. ", "退款七天。", "好的！", "\n", "| a | b |\n",
     "|---|---|\n", "- an item\n", "```\ncode. here.\n```\n", "すぐに払う。", "e.g. this one. "]
)  # fmt: skip


@given(
    st.lists(pieces, min_size=1, max_size=15).map("".join),
    st.sampled_from(["refund", "退款", "item cost", ""]),
    st.integers(1, 60),
)
def test_made_of_whole_units_in_order(text, question, room):
    read = Text.of(text)
    if not read.clean:
        return
    found = cut(text, question, room)
    assert found == cut(text, question, room)
    if found is None:
        return
    assert found.tokens == tokens(found.body + "\n") <= room
    assert found.body == join(read.clean, found.spans)
    starts = {unit.start for unit in read.units}
    ends = {unit.end for unit in read.units}
    last = -1
    for start, end in found.spans:
        assert last < start < end
        assert start in starts
        assert end in ends
        last = end
    kept = {at for at, unit in enumerate(read.units) if any(a <= unit.start and unit.end <= b for a, b in found.spans)}
    assert {read.units[at].header for at in kept} - {None} <= kept
