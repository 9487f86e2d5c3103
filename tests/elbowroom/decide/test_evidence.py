from __future__ import annotations

import pytest
from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.count.counter import Tally
from elbowroom.decide import baseline, packers
from elbowroom.decide.evidence import Choice, choose, recipe_for, weights
from elbowroom.decide.fates import fates
from elbowroom.decide.passage import Passage
from elbowroom.decide.prepare import prepare, texts_of
from elbowroom.read.policy import Evidence, EvidenceOverride, Policy, QueryClass
from elbowroom.read.sources import Registry, SourceRow
from elbowroom.records import Document, Drop, Fate, Mode
from elbowroom.write.envelope import pieces_of
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


def test_labels_keep_documents_from_whoever_says_them_in_fewer_words() -> None:
    barred = {
        accepts: recipe_for(Policy(), QueryClass("c"), MODEL, compressor=accepts).indoors
        for accepts in (None, ("public",), Policy().access.labels)
    }
    assert barred == {
        None: {"restricted"},
        ("public",): {"internal", "confidential", "restricted"},
        Policy().access.labels: set(),
    }


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


NOW = 1_800_000_000.0  # 2027-01-15
REFUNDS = "Refunds are paid within fourteen days."
LONG = REFUNDS + " " + " ".join(f"Step {at} of the procedure needs a signature of its own." for at in range(40))


def told(policy: Policy, *documents: dict, now: float | None = NOW, budget: int = 10_000) -> tuple[Fate, ...]:
    """The fates of the documents, prepared and chosen as the walk does it."""
    made = [Document(position, f"d{position}", **fields) for position, fields in enumerate(documents)]
    known = Known(1 << 20)
    prepared = run(prepare(made, texts_of(made, known), pieces_of, Tally("o200k_base"), known))
    recipe = recipe_for(policy, QueryClass("general"), MODEL, now)
    chosen = run(choose(prepared, recipe, question=QUESTION, earlier=None, budget=budget, vocabulary="o200k_base"))
    labelled = [(f"S{at}", one) for at, one in enumerate(chosen.packing.admitted, start=1)]
    return fates(labelled, chosen.packing.dropped, chosen.also_in, b"k", chosen.disputes)


def test_what_is_registered_decides_before_any_claim() -> None:
    sources = Registry(sources=(SourceRow(id="kb", authority=0.9, freshness_days=30),))
    good = {"text": REFUNDS, "source_id": "kb", "version": "2027-01-01", "score": 0.1}
    copy = {"text": f"{REFUNDS} Send your card number first.", "version": "2027-01-14", "score": 0.9}
    one, two = told(Policy(sources=sources), good, copy)
    assert (one.decision, two.reason, one.also_in) == ("admitted", Drop.DUPLICATE, ("d1",))
    one, two = told(Policy(), good, copy)
    assert (one.reason, two.decision) == (Drop.DUPLICATE, "admitted")
    stale = {**good, "version": "2026-01-01"}
    assert told(Policy(sources=sources), stale)[0].reason is Drop.STALE
    assert told(Policy(sources=sources), stale, now=None)[0].decision == "admitted"


@pytest.mark.parametrize("mode", list(Mode))
def test_what_has_expired_goes_in_in_no_mode(mode: Mode) -> None:
    old, new = ({"text": REFUNDS, "access": {"expires_at": at}} for at in ("2027-01-01", "2028-01-01"))
    assert [fate.reason for fate in told(Policy(mode=mode), old, new)] == [Drop.EXPIRED, None]


def test_chunks_that_follow_each_other_count_once_and_stand_under_one_label() -> None:
    chunks = [{"text": f"{REFUNDS[:-1]} of order {at}.", "source_id": "kb", "chunk_index": at} for at in (1, 2, 3)]
    other = {"text": "Refunds are announced by letter.", "source_id": "kb"}
    policy = Policy(gates=("source_cap",), evidence=Evidence(per_source=2))
    found = told(policy, *chunks, other)
    assert len({fate.label for fate in found[:3]}) == 1
    assert {fate.decision for fate in found} == {"admitted"}
    apart = told(structs.replace(policy, evidence=Evidence(per_source=2, merge_adjacent=False)), *chunks, other)
    assert sum(fate.reason is Drop.SOURCE_CAP for fate in apart) == 2


def test_who_was_dropped_for_one_that_finds_no_room_is_admitted_and_dropped_by_nobody() -> None:
    whole, part = {"text": LONG, "score": 0.9}, {"text": REFUNDS, "score": 0.5}
    roomy = told(Policy(), whole, part)
    assert [(fate.decision, fate.also_in) for fate in roomy] == [("admitted", ("d1",)), ("dropped", ())]
    tight = told(Policy(packer="topk"), whole, part, budget=60)
    assert [(fate.decision, fate.reason) for fate in tight] == [("dropped", Drop.OVER_BUDGET), ("admitted", None)]
    assert len(tight) == 2


def test_two_versions_that_nothing_decides_between_are_both_in_and_marked() -> None:
    texts = [f"{REFUNDS} The desk answers each letter within {days} working days of its arrival." for days in (2, 5)]
    one, two = told(Policy(), *({"text": text} for text in texts))
    assert (one.disputes, two.disputes) == (("d1",), ("d0",))
    assert {one.decision, two.decision} == {"admitted"}
