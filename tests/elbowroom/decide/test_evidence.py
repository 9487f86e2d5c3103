from __future__ import annotations

import pytest

from elbowroom.clean.text import Text
from elbowroom.decide import baseline, packers
from elbowroom.decide.evidence import Choice, choose, recipe_for, weights
from elbowroom.decide.passage import Passage
from elbowroom.read.policy import Evidence, EvidenceOverride, Policy, QueryClass
from elbowroom.records import Document, Drop, Mode
from tests.walk import MODEL, run

QUESTION = Text.of("When are refunds paid?")


def passage(position: int, text: str, rank: int = 0) -> Passage:
    return Passage(Document(position, f"d{position}", text), Text.of(text), "", 1.0 - rank / 10, rank, 5, 20)


def choice(policy: Policy, *passages: Passage, budget: int = 1_000) -> Choice:
    recipe = recipe_for(policy, QueryClass("general"), MODEL)
    return run(choose(passages, recipe, question=QUESTION, earlier=None, budget=budget, vocabulary="o200k_base"))


def test_a_policy_s_recipe_is_its_gates_its_packer_and_the_class_s_numbers() -> None:
    query_class = QueryClass("c", evidence=EvidenceOverride(ceiling=9))
    recipe = recipe_for(Policy(packer="topk", gates=("empty",), order="edges"), query_class, MODEL)
    assert (recipe.gates, recipe.pack, recipe.order) == (("empty",), packers.load("topk"), "edges")
    assert recipe.limits.ceiling == 9


def test_where_nothing_is_enforced_the_recipe_is_the_baseline_s() -> None:
    policy = Policy(mode=Mode.PASSTHROUGH, packer="topk", evidence=Evidence(ceiling=9))
    recipe = recipe_for(policy, QueryClass("general"), MODEL)
    assert (recipe.gates, recipe.pack, recipe.order) == (baseline.GATES, baseline.pack, "document")
    assert recipe.limits.ceiling == MODEL.context_window
    assert recipe.limits.max_passage_tokens == MODEL.context_window


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.PASSTHROUGH])
def test_every_passage_ends_on_one_side(mode: Mode) -> None:
    given = [
        passage(0, "Refunds are paid within fourteen days."),
        passage(1, "", 1),
        passage(2, "Refunds are paid within fourteen days.", 2),
        passage(3, "Parcels leave on Mondays and Thursdays.", 3),
    ]
    made = choice(Policy(mode=mode), *given)
    admitted = [one.passage.document.position for one in made.packing.admitted]
    dropped = [one.passage.document.position for one in made.packing.dropped]
    assert sorted(admitted + dropped) == [0, 1, 2, 3]


def test_a_sifted_passage_keeps_its_reason_and_who_stands_for_it() -> None:
    made = choice(
        Policy(),
        passage(0, "Refunds are paid within fourteen days."),
        passage(1, "", 1),
        passage(2, "Refunds are paid within fourteen days.", 2),
    )
    assert {one.passage.document.id: one.reason for one in made.packing.dropped} == {
        "d1": Drop.EMPTY,
        "d2": Drop.DUPLICATE,
    }
    assert made.also_in == {0: ("d2",)}


def test_a_gate_that_is_switched_off_drops_nothing() -> None:
    made = choice(Policy(gates=("over_budget",)), passage(0, "Same words here."), passage(1, "Same words here.", 1))
    assert made.packing.dropped == ()


def test_terms_of_the_previous_turn_count_half_unless_they_are_asked_for_again() -> None:
    assert weights(Text.of("refunds"), None) == {"refund": 1.0}
    both = weights(Text.of("refunds"), Text.of("refunds for annual plans"))
    assert both["refund"] == 1.0
    assert both["annual"] == 0.5
