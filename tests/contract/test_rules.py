"""What every class rule promises, whichever files there are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide import packers, rules
from tests.passages import drive, job, passages
from tests.rules import shipped, with_class
from tests.walk import chat, pack

WORDS = ("alpha", "beta", "gamma", "delta", "error E100", "version 2.1", "prerequisites", "选项", "步骤")
DOCUMENTS = st.lists(
    st.fixed_dictionaries(
        {"text": st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(lambda words: ". ".join(words) + ".")},
        optional={
            "source_id": st.sampled_from("abc"),
            "section": st.sampled_from(["one", "two", "Before you begin"]),
            "title": st.sampled_from(WORDS),
            "score": st.floats(0, 1),
            "version": st.sampled_from(["2.1", "3"]),
        },
    ),
    max_size=12,
)
QUESTIONS = st.sampled_from(
    ["alpha or beta?", "How is gamma done in version 2.1?", "error E100 with delta", "选项和步骤有什么区别", "list all"]
)
RULES = sorted(rules.NAMES)


def test_a_name_that_is_no_file_is_not_loaded():
    with pytest.raises(KeyError):
        rules.load("os")


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=40)
@given(
    documents=DOCUMENTS, question=QUESTIONS, budget=st.integers(0, 200), packer=st.sampled_from(sorted(packers.NAMES))
)
def test_every_passage_is_on_one_side_and_within_the_budget(name, documents, question, budget, packer):
    given_ = job(
        passages(documents), question=question, budget=budget, per_source=3, max_passages=6, min_excerpt_tokens=2
    )
    packing = drive(rules.load(name).pack(given_, packers.load(packer)))
    sides = [one.passage.document.position for one in packing.admitted]
    sides += [one.passage.document.position for one in packing.dropped]
    assert sorted(sides) == list(range(len(documents)))
    assert sum(one.tokens for one in packing.admitted) <= budget
    assert len(packing.admitted) <= 6
    sources = [one.passage.document.source for one in packing.admitted]
    assert all(sources.count(one) <= 3 for one in sources)


@pytest.mark.parametrize("name", RULES)
@given(documents=DOCUMENTS, question=QUESTIONS)
@settings(max_examples=20)
def test_the_same_job_is_packed_the_same_way(name, documents, question):
    given_ = job(passages(documents), question=question, budget=60)
    first, second = (drive(rules.load(name).pack(given_, packers.load("cover"))) for _ in range(2))
    assert first == second


TOOLS = [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}]


@pytest.mark.parametrize("claimed", [one.name for one in shipped().classes])
@given(documents=DOCUMENTS, question=QUESTIONS)
@settings(max_examples=8, deadline=None)
def test_a_wrong_class_adds_no_evidence_and_removes_no_tool(claimed, documents, question):
    """Under the numbers of the general class, any class admits only what was given, within the same limits."""
    named = [{**one, "id": f"i{at}"} for at, one in enumerate(documents)]
    policy = with_class(claimed, evidence=structs.replace(shipped().query_class(claimed).evidence, ceiling=300))
    request = chat(("user", question), documents=named, tools=TOOLS, context={"class": claimed})
    outcome = pack(request, policy)
    assert outcome.decision.evidence_tokens <= 300
    assert {fate.id for fate in outcome.decision.documents} == {one["id"] for one in named}
    body = json.loads(outcome.body)
    assert body["tools"] == TOOLS
    assert {one.name for one in policy.classes} >= {outcome.decision.query_class.name}
