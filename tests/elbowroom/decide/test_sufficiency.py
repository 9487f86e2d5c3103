from __future__ import annotations

import pytest

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.evidence import Choice, Recipe
from elbowroom.decide.packers.cover import pack
from elbowroom.decide.passage import Admitted, Dropped, Packing
from elbowroom.decide.sufficiency import lacking, with_summaries
from elbowroom.read.policy import Minimum
from elbowroom.records import Drop
from tests.passages import VOCABULARY, drive, job, limits, passage, tokens


def admitted(position: int, source: str) -> Admitted:
    return Admitted(passage("Text.", position=position, source_id=source), "Text.", 5)


@pytest.mark.parametrize(
    ("found", "minimum", "lacks", "said"),
    [
        ([], Minimum(), "more", "no evidence was admitted"),
        ([admitted(0, "a")], Minimum(), "", ""),
        ([admitted(0, "a")], Minimum(), "an option", "an option"),
        ([admitted(0, "a")], Minimum(passages=2), "an option", "1 passages were admitted, the class needs 2"),
        ([admitted(0, "a"), admitted(1, "a")], Minimum(sources=2), "", "1 sources were admitted, the class needs 2"),
        ([admitted(0, "a"), admitted(1, "b")], Minimum(passages=2, sources=2), "", ""),
    ],
)
def test_what_is_lacking(found, minimum, lacks, said):
    assert lacking(found, minimum, lacks) == said


def summed(budget: int = 100, inside: tuple[Admitted, ...] = (), **numbers) -> tuple[Packing, Packing]:
    """Two sections of one source and one of another, all too long, each with a summary."""
    long = "Word. " * 90
    some = [
        passage(long, position=0, source_id="a", section="x", summary="Of x."),
        passage(long, position=1, source_id="a", section="x", summary="Of x again."),
        passage(long, position=2, source_id="a", section="y", summary="Of y."),
        passage(long, position=3, source_id="b", summary="Of b."),
        passage(long, position=4, source_id="c"),
    ]
    given = job(some, budget=budget, **numbers)
    dropped = tuple(Dropped(one, Drop.OVER_BUDGET) for one in some)
    choice = Choice(Packing(inside, dropped), {}, given)
    recipe = Recipe(("over_count",), pack, limits(**numbers), "best_first")

    def pieces(shown, body):
        return "<S1>\n", body + "\n", "</S1>\n"

    return choice.packing, drive(with_summaries(choice, recipe, pieces, Known(1 << 16), Tally(VOCABULARY)))


def test_one_summary_a_section_of_sources_that_have_nothing_in():
    _, found = summed()
    assert sorted(one.body for one in found.admitted) == ["Of b.", "Of x.", "Of y."]
    assert {one.form for one in found.admitted} == {"summary"}
    assert all(one.passage.text.clean.startswith("Word.") for one in found.admitted)
    assert sorted(one.passage.document.position for one in found.dropped) == [1, 4]
    assert sum(one.tokens for one in found.admitted) <= 100
    assert all(one.tokens >= tokens(one.body) for one in found.admitted)


def test_a_source_that_has_something_in_needs_none():
    _, found = summed(inside=(admitted(9, "a"),))
    assert [one.body for one in found.admitted] == ["Text.", "Of b."]


def test_neither_budget_nor_number_is_exceeded():
    before, found = summed(budget=4)
    assert found is before
    _, found = summed(max_passages=1)
    assert len(found.admitted) == 1
    before, found = summed(inside=(admitted(9, "in"),), max_passages=1)
    assert found is before
