"""A reranker's order in place of the caller's: what it is shown, what it changes, and what no answer is."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.count.counter import Tally
from elbowroom.decide.reranking import Ranked, rerank
from elbowroom.errors import RerankUnavailable
from elbowroom.needs import NeedCounts, NeedRerank
from elbowroom.read.policy import Rerank
from elbowroom.records import Drop, Reranking
from tests.passages import VOCABULARY, passages, tokens

LEXICAL = Rerank(by="lexical")


def ranked(documents, policy, *answer, shown=None) -> tuple[Ranked, list[NeedRerank]]:
    given = passages(documents)
    steps = rerank(given, given if shown is None else shown(given), policy, "which?", Tally(VOCABULARY))
    asked: list[NeedRerank] = []
    say: Any = None
    while True:
        try:
            need = steps.send(say)
        except StopIteration as done:
            return done.value, asked
        if isinstance(need, NeedRerank):
            asked.append(need)
            say = answer
        else:
            assert isinstance(need, NeedCounts)
            say = tuple(map(tokens, need.texts))


def ids(found: Ranked) -> list[str]:
    return [one.document.id for one in sorted(found.passages, key=lambda one: one.rank)]


THREE = [{"text": "One.", "score": 0.9}, {"text": "Two.", "score": 0.5}, {"text": "Three.", "score": 0.1}]


def test_the_caller_s_scores_are_asked_of_nobody():
    found, asked = ranked(THREE, Rerank())
    assert (ids(found), asked, found.told, found.ran) == (["d0", "d1", "d2"], [], None, False)


def test_a_caller_s_own_reranker_has_run_already():
    found, asked = ranked([*THREE, {"text": "Four.", "rerank_score": 0.2}], Rerank())
    assert not asked
    assert found.ran
    assert found.told == Reranking("given", "ran", 1, 0)
    assert ids(found)[0] == "d3"


def test_the_answer_is_the_order():
    found, (asked,) = ranked(THREE, LEXICAL, 0.1, 0.3, 0.2)
    assert asked == NeedRerank("lexical", "which?", ("One.", "Two.", "Three."))
    assert ids(found) == ["d1", "d2", "d0"]
    assert found.told == Reranking("lexical", "ran", 3, 0)
    assert [one.document.rerank_score for one in found.passages] == [0.1, 0.3, 0.2]


def test_who_is_not_shown_comes_behind():
    found, (asked,) = ranked(THREE, Rerank(by="lexical", retrieve_k=2), -5.0, -4.0)
    assert asked.texts == ("One.", "Two.")
    assert ids(found) == ["d1", "d0", "d2"]
    hidden, (asked,) = ranked(THREE, LEXICAL, 1.0, shown=lambda given: given[2:])
    assert asked.texts == ("Three.",)
    assert ids(hidden)[0] == "d2"


def test_a_long_text_is_read_to_the_end_of_a_sentence():
    long = {"text": "One two three. Four five six. Seven eight nine.", "score": 0.9}
    found, (asked,) = ranked([long, THREE[1]], Rerank(by="lexical", input_limit=10), 1.0, 2.0)
    assert asked.texts == ("One two three. Four five six.", "Two.")
    assert found.told == Reranking("lexical", "ran", 2, 1)
    assert [one.scored_in_part for one in found.passages] == [True, False]


def test_a_text_whose_first_sentence_is_too_long_is_not_shown():
    long = {"text": "word " * 40, "score": 0.9}
    found, (asked,) = ranked([long, THREE[1]], Rerank(by="lexical", input_limit=10), 2.0)
    assert asked.texts == ("Two.",)
    assert ids(found) == ["d1", "d0"]


@pytest.mark.parametrize("answer", [(), (1.0,), (1.0, 2.0, float("nan")), (1.0, 2.0, None), (1.0, 2.0, 3.0, 4.0)])
def test_no_such_answer_leaves_the_caller_s_order(answer):
    found, _ = ranked(THREE, LEXICAL, *answer)
    assert ids(found) == ["d0", "d1", "d2"]
    assert not found.ran
    assert found.told is not None
    assert found.told.state == "failed"
    assert all(one.document.rerank_score is None for one in found.passages)


def test_or_refuses_where_the_policy_does():
    with pytest.raises(RerankUnavailable):
        ranked(THREE, Rerank(by="lexical", on_failure="refuse"))


def test_with_nobody_to_show_nobody_is_asked():
    found, asked = ranked(THREE, LEXICAL, shown=lambda _: [])
    assert not asked
    assert found.told == Reranking("lexical", "ran", 0, 0)


def test_what_scores_too_little_is_not_relevant():
    found, _ = ranked(THREE, Rerank(by="lexical", min_score=0.2), 0.1, 0.3, 0.2)
    assert ids(found) == ["d1", "d2"]
    assert [(one.passage.document.id, one.reason) for one in found.dropped] == [("d0", Drop.BELOW_FLOOR)]
    assert found.told is not None
    assert found.told.state == "ran"


def test_nothing_relevant_is_a_state_of_its_own():
    found, _ = ranked(THREE, Rerank(by="lexical", min_score=5), 0.1, 0.3, 0.2)
    assert found.passages == ()
    assert found.ran
    assert found.told is not None
    assert found.told.state == "nothing_relevant"
    assert found.dropped[0].detail == "the reranker's score is 0.1, less than 5"
