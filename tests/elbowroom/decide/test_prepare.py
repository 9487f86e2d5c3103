from __future__ import annotations

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.prepare import body_text, prepare, texts_of
from elbowroom.records import Document, NeedCounts
from tests.walk import run, tokens


def pieces(document: Document, title: str, body: str) -> tuple[str, ...]:
    return f"<{title}>\n", body + "\n", "</>\n"


def test_a_passage_costs_its_body_and_its_tag_lines() -> None:
    documents = [Document(0, "a", "  One line. ", title="A\ntitle", score=2.0), Document(1, "b", None, score=3.0)]
    texts = texts_of(documents, Known(1 << 16))
    first, second = run(prepare(documents, texts, pieces, Tally("o200k_base")))
    assert first.text.clean == "One line."
    assert first.title == "A title"
    assert first.body_tokens == tokens("One line.\n")
    assert first.tokens == tokens("<A title>\n") + tokens("One line.\n") + tokens("</>\n")
    assert (first.rank, second.rank) == (1, 0)
    assert second.text.clean == ""


def test_bodies_are_asked_for_as_texts_that_recur_and_tag_lines_are_not() -> None:
    documents = [Document(0, "a", "One line.")]
    steps = prepare(documents, texts_of(documents, Known(1 << 16)), pieces, Tally("o200k_base"))
    assert next(steps) == NeedCounts("o200k_base", ("One line.\n",), recurring=True)
    assert steps.send((3,)) == NeedCounts("o200k_base", ("<>\n", "</>\n"), recurring=False)


def test_what_was_measured_before_is_not_asked_again() -> None:
    documents = [Document(0, "a", "One line.")]
    texts = texts_of(documents, Known(1 << 16))
    tally = Tally("o200k_base")
    run(tally.measure([body_text(texts[0])]))
    assert next(prepare(documents, texts, pieces, tally)) == NeedCounts(
        "o200k_base", ("<>\n", "</>\n"), recurring=False
    )
