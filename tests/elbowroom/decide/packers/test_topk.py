"""Best first, and full is full."""

from __future__ import annotations

from elbowroom.decide.packers.topk import pack
from elbowroom.records import Drop
from tests.passages import drive, job, passage


def chunk(position: int, cost: int, **known):
    return passage(f"Chunk {position}.", position=position, tag_tokens=0, body_tokens=cost, **known)


def test_a_window_of_8000():
    # 1,500 for the answer, 1,200 fixed and three turns of 400 leave 4,100: four chunks of 900, and 500 to spare.
    budget = 8000 - 1500 - 1200 - 3 * 400
    packing = drive(pack(job([chunk(at, 900) for at in range(8)], budget=budget)))
    assert len(packing.admitted) == 4
    assert budget - sum(one.tokens for one in packing.admitted) == 500
    assert [one.detail for one in packing.dropped] == [
        "400 tokens too many: it costs 900, 500 are left",
        *["ranked below d4, which did not fit"] * 3,
    ]


def test_it_stops_at_the_first_that_does_not_fit():
    packing = drive(pack(job([chunk(0, 10), chunk(1, 100), chunk(2, 1)], budget=50)))
    assert [one.passage.document.id for one in packing.admitted] == ["d0"]
    assert [one.reason for one in packing.dropped] == [Drop.OVER_BUDGET, Drop.OVER_BUDGET]


def test_it_keeps_no_more_than_a_reranker_would():
    packing = drive(pack(job([chunk(at, 1) for at in range(4)], rerank_keep=2)))
    assert [one.passage.document.id for one in packing.admitted] == ["d0", "d1"]
    assert {(one.reason, one.detail) for one in packing.dropped} == {(Drop.OVER_COUNT, "ranked below the best 2")}


def test_other_refusals_are_skipped():
    some = [chunk(0, 1, source_id="a"), chunk(1, 1, source_id="a"), chunk(2, 1, source_id="b")]
    packing = drive(pack(job(some, per_source=1)))
    assert [one.passage.document.id for one in packing.admitted] == ["d0", "d2"]
    assert [one.reason for one in packing.dropped] == [Drop.SOURCE_CAP]
