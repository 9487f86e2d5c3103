"""What adds most to the evidence so far goes in next. Each rule by a case that fails without it."""

from __future__ import annotations

import pytest

from elbowroom.decide.packers.cover import pack
from elbowroom.records import Drop
from tests.passages import drive, job, passage, passages


def chosen(some, question: str, **rest) -> list[str]:
    return [one.passage.document.id for one in drive(pack(job(some, question=question, **rest))).admitted]


def ranked(*texts: str, **known) -> list:
    """Scored evenly, best first."""
    return passages([{"text": text, "score": float(-at), **known} for at, text in enumerate(texts)])


def test_what_covers_the_other_half_of_a_question_goes_before_more_of_the_same():
    some = ranked(
        "The Alpine tent weighs two kilos.",
        "The Alpine tent is sold in green and it weighs little.",
        "The Boreal stove burns gas.",
        "Gas is sold by the litre.",
    )
    assert chosen(some, "What does the Alpine tent weigh, and what does the Boreal stove burn?")[:2] == ["d0", "d2"]


@pytest.mark.parametrize(
    ("texts", "titles", "question"),
    [
        (
            (
                "The anthem was written by Ada Quill.",
                "Anthems are sung when a match begins.",
                "Her childhood was spent in Leiden.",
            ),
            ("Anthem of the club", "Anthems", "Ada Quill (poet)"),
            "Where was the writer of the anthem of the club born?",
        ),
        (
            ("这首会歌由林若水作词。", "比赛开始时会唱会歌。", "她出生于泉州。"),
            ("俱乐部会歌", "会歌", "林若水（诗人）"),
            "俱乐部会歌的词作者出生在哪里？",
        ),
    ],
)
def test_a_title_that_an_admitted_passage_names_comes_up(texts, titles, question):
    def order(named: bool) -> list[str]:
        rows = zip(texts, titles if named else (titles[0], titles[1], "Somebody else"), strict=True)
        return chosen(
            passages([{"text": text, "title": title, "score": float(-at)} for at, (text, title) in enumerate(rows)]),
            question,
        )

    assert order(named=True).index("d2") < order(named=False).index("d2")


def test_a_title_that_everybody_names_is_a_word_like_any_other():
    texts = [f"Orchard is the name of garden {at}." for at in range(8)]
    titles = ["Garden", *[""] * 6, "Orchard"]
    some = passages(
        [{"text": a, "title": b, "score": float(-at)} for at, (a, b) in enumerate(zip(texts, titles, strict=True))]
    )
    assert chosen(some, "garden")[-1] == "d7"


def test_a_title_that_the_question_names_comes_up():
    texts = ("Paid within a week.", "Paid within a month.", "Paid within a day.")
    titles = ("Gift cards", "Deposits", "Annual plans")
    some = passages(
        [{"text": a, "title": b, "score": float(-at)} for at, (a, b) in enumerate(zip(texts, titles, strict=True))]
    )
    assert chosen(some, "How soon are annual plans refunded?")[0] == "d2"


def test_without_scores_the_words_count_more_than_the_order():
    texts = ("Nothing to the point is said here.", "Nor is it said here.", "A refund is paid within seven days.")
    question = "refund within how many days"
    assert chosen(passages([{"text": text} for text in texts]), question)[0] == "d2"


def test_authority_weighs():
    some = [passage("A refund takes a week.", position=at, rank=at, authority=(0.5, 1.0)[at]) for at in range(2)]
    assert chosen(some, "refund") == ["d1", "d0"]


@pytest.mark.parametrize(("recency", "order"), [(True, ["d2", "d1", "d0"]), (False, ["d0", "d1", "d2"])])
def test_newer_goes_first_where_the_class_asks_for_it(recency, order):
    versions = ("2025-01-01", None, "2026-01-01")
    some = [passage("A refund takes a week.", position=at, version=version) for at, version in enumerate(versions)]
    assert chosen(some, "refund", recency=recency) == order


def test_with_one_date_there_is_nothing_newer():
    some = [passage("A refund takes a week.", position=at, version=(None, "2026-01-01")[at]) for at in range(2)]
    assert chosen(some, "refund", recency=True) == ["d0", "d1"]


def test_of_two_that_say_as_much_the_shorter_goes_first():
    spare = " Nothing else of it is of any use to anybody who reads it now." * 8
    some = [
        passage("A refund takes a week." + spare, position=0, score=1.0),
        passage("A refund takes a week.", position=1, score=1.0),
    ]
    assert chosen(some, "refund")[0] == "d1"


def test_a_winner_that_does_not_fit_gives_sentences():
    long = (
        "Our shop is in the old town. A refund takes seven days. Nothing of that has changed in years, as we all know."
    )
    some = ranked(long, "The desk opens at noon.")
    room = some[0].tokens - 1
    packing = drive(pack(job(some, question="refund seven days", budget=room, min_excerpt_tokens=8)))
    (only,) = packing.admitted
    assert only.passage.document.id == "d0"
    assert "A refund takes seven days." in only.body
    assert only.spans
    assert only.tokens <= room


def test_what_cannot_be_shortened_is_skipped():
    some = ranked("word " * 100, "A refund takes a week.")
    packing = drive(pack(job(some, question="word", budget=50)))
    assert [one.passage.document.id for one in packing.admitted] == ["d1"]
    assert [(one.reason, one.passage.document.id) for one in packing.dropped] == [(Drop.OVER_BUDGET, "d0")]


def test_nothing_to_choose_from():
    packing = drive(pack(job([], question="refund")))
    assert (packing.admitted, packing.dropped) == ((), ())
