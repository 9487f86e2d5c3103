"""Every file in `decide/packers/` is one packer of one shape, and keeps the same promises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.decide import packers
from elbowroom.decide.excerpt import join
from elbowroom.decide.passage import Packing
from tests.passages import drive, job, passages, tokens

SENTENCES = (
    "A refund is paid within seven days.", "The annual plan renews in May.", "Mercury is the smallest planet.",
    "Nothing else is said about it.", "退款在七天内支付。", "年度套餐五月续订。", "The refund policy names the desk.",
)  # fmt: skip

document = st.fixed_dictionaries(
    {
        "text": st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6, unique=True).map(" ".join),
        "title": st.sampled_from([None, "Refund policy", "Mercury (planet)", "年度套餐"]),
        "source_id": st.sampled_from([None, "a", "b"]),
        "version": st.sampled_from([None, "2026-01-01", "2026-02-01"]),
        "authority": st.sampled_from([0.5, 1.0]),
    }
)
cases = st.fixed_dictionaries(
    {
        "documents": st.lists(document, max_size=8),
        "scores": st.none() | st.permutations(range(8)),
        "question": st.sampled_from(["", "When is a refund paid?", "年度套餐何时续订？", "refund policy of Mercury"]),
        "budget": st.integers(0, 250),
        "numbers": st.fixed_dictionaries(
            {
                "max_passages": st.sampled_from([1, 4, 100]),
                "per_source": st.sampled_from([1, 2, 100]),
                "max_passage_tokens": st.sampled_from([30, 1000]),
                "min_excerpt_tokens": st.sampled_from([1, 12]),
                "rerank_keep": st.sampled_from([2, 100]),
                "min_novelty": st.sampled_from([0.0, 0.2]),
                "recency": st.booleans(),
                "reranked": st.booleans(),
            }
        ),
    }
)


def work(name: str, case: dict, order: list[int] | None = None) -> Packing:
    fields = [
        {**one, "id": f"d{at}", "score": case["scores"] and float(case["scores"][at])}
        for at, one in enumerate(case["documents"])
    ]
    some = passages([fields[at] for at in order] if order else fields)
    return drive(packers.load(name)(job(some, question=case["question"], budget=case["budget"], **case["numbers"])))


def told(packing: Packing) -> tuple[list[tuple], list[tuple]]:
    return (
        [(one.passage.document.id, one.body, one.tokens, one.spans) for one in packing.admitted],
        sorted((one.passage.document.id, one.reason, one.detail) for one in packing.dropped),
    )


def test_the_three_are_there():
    assert {"cover", "topk", "weighted"} <= packers.NAMES


@pytest.mark.parametrize("name", ["", "intake", "../rank", "os"])
def test_only_what_lies_in_the_folder_can_be_loaded(name):
    with pytest.raises(KeyError):
        packers.load(name)


@pytest.mark.parametrize("name", sorted(packers.NAMES))
@settings(max_examples=40)
@given(cases)
def test_every_passage_is_on_one_side_and_nothing_is_over_budget(name, case):
    packing = work(name, case)
    sides = [one.passage.document.id for one in packing.admitted] + [one.passage.document.id for one in packing.dropped]
    assert sorted(sides) == [f"d{at}" for at in range(len(case["documents"]))]
    assert sum(one.tokens for one in packing.admitted) <= case["budget"]
    assert all(one.detail for one in packing.dropped)
    for one in packing.admitted:
        assert one.tokens == one.passage.tag_tokens + tokens(one.body + "\n") <= case["numbers"]["max_passage_tokens"]
        clean = one.passage.text.clean
        assert one.body == (join(clean, one.spans) if one.spans else clean)


@pytest.mark.parametrize("name", sorted(packers.NAMES))
@settings(max_examples=40)
@given(cases)
def test_the_caps_hold(name, case):
    packing = work(name, case)
    numbers = case["numbers"]
    sources = [one.passage.document.source for one in packing.admitted]
    assert len(sources) <= numbers["max_passages"]
    assert all(sources.count(source) <= numbers["per_source"] for source in sources)
    if numbers["reranked"]:
        assert all(one.passage.rank < numbers["rerank_keep"] for one in packing.admitted)


@pytest.mark.parametrize("name", sorted(packers.NAMES))
@settings(max_examples=40)
@given(cases, st.permutations(range(8)), st.permutations(range(8)))
def test_the_order_in_which_scored_candidates_come_means_nothing(name, case, scores, order):
    case = {**case, "scores": scores}
    shuffled = [at for at in order if at < len(case["documents"])]
    assert told(work(name, case)) == told(work(name, case)) == told(work(name, case, shuffled))
