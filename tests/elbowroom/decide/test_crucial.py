"""The best passage whole and the others cut, or each in its turn: by policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide import packers
from elbowroom.decide.crucial import others_first
from elbowroom.decide.passage import Admitted, Job, Packing
from elbowroom.read.policy import Evidence, EvidenceOverride, Policy, QueryClass
from tests.passages import drive, job, passage, passages
from tests.walk import chat, pack, reasons

QUESTION = "When are refunds of annual plans paid?"
ANSWER = (
    "Refunds of annual plans are paid within fourteen days. "
    + "The bank of the customer decides when they arrive. " * 9
    + "Refunds above a thousand euros are paid within thirty days."
)


def aside(at: int) -> str:
    return f"Annual plans of kind {at} are paid. " + f"Refunds are told to clerk {at}. " * 9


def documents() -> list[dict[str, object]]:
    others = [{"text": aside(at), "source_id": f"o{at}", "score": 0.3 - at / 10} for at in range(3)]
    return [{"text": ANSWER, "source_id": "a", "score": 0.9}, *others]


def one(packing: Packing, position: int) -> Admitted | None:
    return next((found for found in packing.admitted if found.passage.document.position == position), None)


def full(budget: int = 190, **numbers: int) -> Job:
    return job(passages(documents()), question=QUESTION, budget=budget, min_excerpt_tokens=8, **numbers)


@pytest.mark.parametrize("packer", ["cover", "weighted", "topk"])
def test_the_best_is_whole_and_the_others_are_cut(packer):
    packing = drive(others_first(packers.load(packer))(full()))
    assert [found.form for found in packing.admitted] == ["whole", "excerpt", "excerpt", "excerpt"]
    best = one(packing, 0)
    assert best is packing.admitted[0]
    assert best.body == ANSWER
    assert sum(found.tokens for found in packing.admitted) <= 190


def test_without_it_the_others_may_take_its_room():
    tiers = [passage(ANSWER, position=0, rank=0), passage(aside(1), position=1, rank=1, authority=3.0)]
    given_ = job(tiers, question=QUESTION, budget=150, min_excerpt_tokens=8)
    plain = one(drive(packers.load("cover")(given_)), 0)
    assert plain is not None
    assert plain.form == "excerpt"
    crucial = drive(others_first(packers.load("cover"))(given_))
    assert [(found.passage.document.position, found.form) for found in crucial.admitted] == [
        (0, "whole"),
        (1, "excerpt"),
    ]


@pytest.mark.parametrize(
    "given_",
    [
        job([], question=QUESTION),
        full(budget=10_000),
        full(budget=60),
        full(max_passage_tokens=50),
        job([passage(ANSWER, most=20), passage(aside(1), position=1)], question=QUESTION, budget=140),
    ],
    ids=["nothing", "room for all", "over the budget", "over the cap", "over its share"],
)
def test_where_it_changes_nothing(given_):
    pack_ = packers.load("cover")
    assert drive(others_first(pack_)(given_)) == drive(pack_(given_))


def test_short_ones_leave_their_room_to_the_long():
    some = [passage(ANSWER, position=0), passage("Refunds are paid.", position=1), passage(aside(2), position=2)]
    packing = drive(others_first(packers.load("cover"))(job(some, question=QUESTION, budget=180)))
    short, long = one(packing, 1), one(packing, 2)
    assert short is not None
    assert long is not None
    assert short.form == "whole"
    assert long.tokens > (180 - packing.admitted[0].tokens) // 2


def test_one_passage_at_most_is_the_best():
    packing = drive(others_first(packers.load("cover"))(full(max_passages=1)))
    assert [found.body for found in packing.admitted] == [ANSWER]


@given(budget=st.integers(0, 400), most=st.integers(10, 200), many=st.integers(1, 4))
def test_every_passage_is_on_one_side_and_within_the_budget(budget, most, many):
    given_ = full(budget, max_passage_tokens=most, max_passages=many)
    packing = drive(others_first(packers.load("cover"))(given_))
    sides = [found.passage.document.position for found in packing.admitted]
    sides += [found.passage.document.position for found in packing.dropped]
    assert sorted(sides) == [0, 1, 2, 3]
    assert sum(found.tokens for found in packing.admitted) <= budget


SECTION = [{"id": f"s{at}", "source_id": "s", "section": "Refunds", "score": 0.5, "text": aside(at)} for at in range(2)]


@pytest.mark.parametrize(
    ("crucial", "forms"),
    [("excerpt", {"a": "excerpt", "b": "whole"}), ("others_first", {"a": "whole", "b": "excerpt"})],
)
def test_a_policy_and_a_class_choose(crucial, forms):
    """The other is named by the question, so that it has its turn first."""
    some = [
        {"id": "a", "source_id": "a", "score": 0.9, "text": ANSWER},
        {"id": "b", "source_id": "b", "score": 0.5, "text": aside(1), "title": "Annual plans"},
    ]
    evidence = Evidence(ceiling=240, min_excerpt_tokens=8)
    own = EvidenceOverride(crucial=crucial)
    for policy in (
        Policy(evidence=evidence, classes=(QueryClass("general", evidence=own),)),
        Policy(evidence=structs.replace(evidence, crucial=crucial)),
    ):
        decision = pack(chat(("user", QUESTION), documents=some), policy).decision
        assert {fate.id: fate.form for fate in decision.documents if fate.decision == "admitted"} == forms


def test_a_procedure_is_not_cut_for_it():
    """Under `whole_section` what is cut is as good as lost."""
    policy = Policy(
        evidence=Evidence(ceiling=420, crucial="others_first", per_source=9, merge_adjacent=False),
        classes=(QueryClass("general", rule="whole_section"),),
    )
    found = reasons(pack(chat(("user", QUESTION), documents=[*SECTION, {"id": "a", "text": ANSWER}]), policy).decision)
    assert (found["s0"], found["s1"]) == ("admitted", "admitted")
