from __future__ import annotations

from msgspec import structs

from elbowroom.clean.text import Text
from elbowroom.decide import baseline, gates
from elbowroom.decide.evidence import recipe_for
from elbowroom.decide.passage import Job, Packing, Passage
from elbowroom.read.policy import Evidence, Policy, QueryClass
from elbowroom.records import Document, Drop, Mode
from tests.walk import MODEL, run

POLICY = Policy(mode=Mode.PASSTHROUGH, evidence=Evidence(max_passages=1, per_source=1, ceiling=10))


def passage(position: int, tokens: int, rank: int = 0) -> Passage:
    return Passage(Document(position, f"d{position}", "x", source_id="s"), Text.of("x"), "", 1.0, rank, 0, tokens)


def pack(budget: int, *passages: Passage) -> Packing:
    recipe = recipe_for(POLICY, QueryClass("general"), MODEL)
    module = gates.load("over_budget")
    pack_gates = ((Drop.OVER_BUDGET, module.build(recipe.limits)),)
    job = Job(tuple(passages), {}, "", budget, recipe.limits, "o200k_base", pack_gates)
    return run(baseline.pack(job))


def test_everything_goes_in_as_the_client_listed_it_whatever_the_policy_s_caps() -> None:
    packing = pack(100, passage(2, 30, rank=0), passage(0, 30, rank=2), passage(1, 30, rank=1))
    assert [one.passage.document.position for one in packing.admitted] == [0, 1, 2]
    assert packing.dropped == ()


def test_what_overflows_is_left_off_from_the_end() -> None:
    packing = pack(70, passage(0, 30), passage(1, 50), passage(2, 10))
    assert [one.passage.document.position for one in packing.admitted] == [0]
    assert [one.reason for one in packing.dropped] == [Drop.OVER_BUDGET] * 2
    assert [one.detail for one in packing.dropped][1] == "stands behind the first that did not fit"


def test_what_the_client_repeats_in_its_own_messages_is_not_added() -> None:
    policy = structs.replace(POLICY, baseline="as_sent")
    recipe = recipe_for(policy, QueryClass("general"), MODEL)
    lifted = passage(2, 30)
    lifted = structs.replace(lifted, document=structs.replace(lifted.document, message=1))
    job = Job((passage(0, 30), passage(1, 900), lifted), {}, "", 40, recipe.limits, "o200k_base", ())
    packing = run(recipe.pack(job))
    assert [one.passage.document.position for one in packing.admitted] == [2]  # its message would lose it
    assert [one.reason for one in packing.dropped] == [Drop.NOT_ADDED] * 2
