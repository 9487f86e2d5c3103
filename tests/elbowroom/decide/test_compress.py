"""A model's sentences in place of what would go: who is asked about, what is believed, what is told."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide import rules
from elbowroom.decide.compress import Compressed, compress, figures
from elbowroom.decide.evidence import Choice, Recipe
from elbowroom.decide.packers.cover import pack
from elbowroom.decide.passage import Admitted, Dropped, Packing, Part, Passage
from elbowroom.needs import NeedCounts, NeedSummary, Steps
from elbowroom.read.policy import Compress
from elbowroom.records import Drop
from tests.passages import VOCABULARY, job, limits, passage, tokens

LONG = "Refunds above 500 euros take 30 days. " + "Nobody reads that much of it. " * 20
SHORT = "Refunds above 500 euros take 30 days."
ASKED = Compress("small", max_tokens=20, max_passages=2)


def long(position: int, text: str = LONG, **known: Any) -> Passage:
    return passage(text, position=position, source_id=f"s{position}", **known)


def made(
    some: list[Passage],
    *answers: tuple[Any, ...],
    budget: int = 100,
    inside: tuple[Admitted, ...] = (),
    reason: Drop = Drop.OVER_BUDGET,
    asked: Compress = ASKED,
    elsewhere: tuple[Dropped, ...] = (),
    **recipe: Any,
) -> tuple[Compressed, list[NeedSummary]]:
    numbers = limits(compress=asked, max_passages=recipe.pop("max_passages", 9))
    given = structs.replace(job(some, budget=budget), limits=numbers)
    dropped = (*(Dropped(one, reason, "9 tokens too many") for one in some), *elsewhere)
    choice = Choice(Packing(inside, dropped), {}, given)
    steps = compress(
        choice, Recipe(("over_count",), pack, numbers, "best_first", **recipe), Known(1 << 16), Tally(VOCABULARY)
    )
    return driven(steps, list(answers))


def driven(steps: Steps[Compressed], answers: list[tuple[Any, ...]]) -> tuple[Compressed, list[NeedSummary]]:
    needs: list[NeedSummary] = []
    answer: Any = None
    while True:
        try:
            need = steps.send(answer)
        except StopIteration as done:
            return done.value, needs
        if isinstance(need, NeedCounts):
            answer = tuple(map(tokens, need.texts))
        else:
            assert isinstance(need, NeedSummary)
            needs.append(need)
            answer = answers.pop(0)


def test_what_would_go_is_said_in_fewer_words():
    one = long(0, score=0.5)
    found, needs = made([one], (SHORT + "\u200b",))
    assert needs == [NeedSummary("small", one.text.clean, 20, 5.0, of="passage")]
    (admitted,) = found.packing.admitted
    assert (admitted.body, admitted.form, admitted.spans) == (SHORT, "compressed", ())
    assert admitted.tokens == one.tag_tokens + tokens(SHORT + "\n")
    assert (found.packing.dropped, found.notes) == ((), ())


def test_they_stand_behind_the_others_in_their_order():
    inside = Admitted(long(9, "Text."), "Text.", 5)
    found, _ = made([long(1), long(0)], (SHORT,), ("Refunds take 30 days.",), inside=(inside,))
    assert [one.passage.document.position for one in found.packing.admitted] == [9, 0, 1]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((), "the model gave nothing"),
        ((None,), "the model gave nothing"),
        ((" \n",), "the model gave nothing"),
        (("Refunds take 3 days.",), "the model's text has 1 figures that the passage does not have"),
        (
            ("Refunds above 500 take thirty days or 31.",),
            "the model's text has 2 figures that the passage does not have",
        ),
        (("word " * 20,), "the model's text is 1 tokens too long"),
    ],
)
def test_what_is_no_use_is_dropped_as_before_and_told(answer, why):
    found, _ = made([long(0)], answer)
    assert found.packing.admitted == ()
    (dropped,) = found.packing.dropped
    assert (dropped.reason, dropped.detail) == (Drop.OVER_BUDGET, f"9 tokens too many; not compressed: {why}")
    assert found.notes == ("degraded: 1 passages were dropped that could not be compressed",)


def test_so_many_are_asked_about_and_no_more():
    found, needs = made([long(at) for at in range(4)], (SHORT,), (), budget=1_000)
    assert len(needs) == 2
    assert [one.passage.document.position for one in found.packing.dropped] == [1, 2, 3]
    assert "not compressed" not in found.packing.dropped[1].detail


INSIDE = {"label": "restricted"}


@pytest.mark.parametrize(
    ("some", "more"),
    [
        ([long(0)], {"asked": Compress()}),
        ([long(0)], {"rule": rules.load("whole_section")}),
        ([long(0)], {"reason": Drop.SOURCE_CAP}),
        ([long(0)], {"budget": 24}),
        ([long(0)], {"max_passages": 0}),
        ([long(0, "Short already.")], {}),
        ([long(0, access=INSIDE)], {"indoors": frozenset(["restricted"])}),
        ([], {"elsewhere": (Dropped(long(7), Drop.OVER_BUDGET, "the message it came in was left out"),)}),
    ],
    ids=["off", "procedures", "another reason", "no room", "a gate", "short", "a label", "no longer there"],
)
def test_who_is_not_asked_about(some, more):
    found, needs = made(some, **more)
    assert needs == []
    assert found.packing.admitted == ()
    assert found.notes == ()


def test_each_document_of_a_merged_passage_may_keep_it_inside():
    one = long(0)
    other = Part(structs.replace(one.document, access=INSIDE), one.text, 0, 9)
    merged = structs.replace(one, parts=(other,))
    assert made([merged], indoors=frozenset(["restricted"]))[1] == []
    assert len(made([merged], (SHORT,), indoors=frozenset(["secret"]))[1]) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,500 euros, 1.5 percent and -5 or −5", {"1500", "1.5", "-5"}),
        ("10-15 days, 5 % of 2024-05-01", {"10", "15", "5%", "2024", "05", "01"}),
        ("３０天，十五天，三个月，一般", {"30", "十五", "三"}),
        ("Fourteen days, half of two hundred", {"fourteen", "half", "two", "hundred"}),
        ("No figure, no one", set()),
    ],
)
def test_figures(text, found):
    assert figures(text) == found
