from __future__ import annotations

from elbowroom.clean.control_strings import RULES
from elbowroom.clean.known import Known
from elbowroom.clean.neutralise import compile_rules, rules_of
from elbowroom.count.counter import Tally
from elbowroom.decide.prepare import prepare, shown_of, still_there, texts_of
from elbowroom.decide.redaction import Searched
from elbowroom.needs import NeedCounts
from elbowroom.records import Document, Drop
from tests.walk import run, tokens

KNOWN = Known(1 << 16)


def pieces(shown: tuple[str, str, str], body: str) -> tuple[str, ...]:
    return f"<{' '.join(filter(None, shown))}>\n", body + "\n", "</>\n"


def test_a_passage_costs_its_body_and_its_tag_lines() -> None:
    documents = [Document(0, "a", "  One line. ", title="A\ntitle", score=2.0), Document(1, "b", None, score=3.0)]
    texts = texts_of(documents, KNOWN)
    first, second = run(prepare(documents, texts, pieces, Tally("o200k_base"), KNOWN))
    assert first.text.clean == "One line."
    assert first.title == "A title"
    assert first.body_tokens == tokens("One line.\n")
    assert first.tokens == tokens("<A title>\n") + tokens("One line.\n") + tokens("</>\n")
    assert (first.rank, second.rank) == (1, 0)
    assert second.text.clean == ""


def test_bodies_are_asked_for_as_texts_that_recur_and_tag_lines_are_not() -> None:
    documents = [Document(0, "a", "One line.")]
    steps = prepare(documents, texts_of(documents, KNOWN), pieces, Tally("o200k_base"), KNOWN)
    assert next(steps) == NeedCounts("o200k_base", ("One line.\n",), recurring=True)
    assert steps.send((3,)) == NeedCounts("o200k_base", ("<>\n", "</>\n"), recurring=False)


def test_what_was_measured_before_is_not_asked_again() -> None:
    documents = [Document(0, "a", "One line.")]
    texts = texts_of(documents, KNOWN)
    tally = Tally("o200k_base")
    run(tally.measure([tally.body(texts[0].clean)]))
    assert next(prepare(documents, texts, pieces, tally, KNOWN)) == NeedCounts(
        "o200k_base", ("<>\n", "</>\n"), recurring=False
    )


def test_what_a_tag_shows_is_cleaned_of_the_configured_control_strings_too() -> None:
    known = Known(1 << 16, compile_rules([*RULES, *rules_of(["§end§"])]))
    access = {"tenant": "a", "label": "in\nternal §end§"}
    document = Document(0, "a", "One §end§", title="T [INST]", version="1\u200b§end§", access=access)
    passage = run(prepare([document], texts_of([document], known), pieces, Tally("o200k_base"), known))[0]
    assert passage.text.clean == "One §\\end§"
    assert passage.shown == ("T [\\INST]", "1§\\end§", "in ternal §\\end§")
    assert shown_of(Document(0, "a", "", access={"label": 7}), known) == ("", "", "")


def test_what_could_not_be_searched_or_has_no_message_is_not_there() -> None:
    documents = [Document(at, f"d{at}", f"Text {at}.", message=at if at < 2 else None) for at in range(4)]
    passages = run(prepare(documents, texts_of(documents, KNOWN), pieces, Tally("o200k_base"), KNOWN))
    searched = {2: Searched(documents[2], failed="late"), 3: Searched(documents[3])}
    kept, lost = still_there(passages, searched, {1})
    assert [one.document.position for one in kept] == [0, 3]
    assert [(one.passage.document.position, one.reason, one.detail) for one in lost] == [
        (1, Drop.OVER_BUDGET, "the message it came in was left out"),
        (2, Drop.REDACTION_FAILED, "late"),
    ]
