"""A question for everything is answered from as many sources as there is room for, and says when it is not all."""

from __future__ import annotations

import pytest

from elbowroom.decide import packers
from elbowroom.decide.rules.distinct_sources import pack
from tests.passages import drive, job, passages
from tests.rules import Case, packed, with_and_without, with_class
from tests.walk import texts

EN: Case = (
    "List all cities where we have an office.",
    [
        *(
            {"id": f"hq-{at}", "source_id": "hq", "score": 1 - at / 50,
             "text": f"Our office in city number {at} of all cities: we have an office with {at + 3} rooms there."}
            for at in range(4)
        ),
        *({"id": name, "source_id": name, "score": 0.1, "text": f"The {name} office opened in May."}
          for name in ("Ghent", "Porto", "Turku")),
    ],
)  # fmt: skip
ZH: Case = (
    "列出公司所有的办事处。",
    [
        *(
            {"id": f"hq-{at}", "source_id": "hq", "score": 1 - at / 50,
             "text": f"公司所有的办事处之{at}：该办事处有{at + 3}个房间，属于公司所有。"}
            for at in range(4)
        ),
        *({"id": name, "source_id": name, "score": 0.1, "text": f"{name}办事处五月开业。"}
          for name in ("成都", "西安", "昆明")),
    ],
)  # fmt: skip


@pytest.mark.parametrize(("case", "ceiling"), [(EN, 160), (ZH, 160)], ids=["en", "zh"])
def test_a_passage_of_every_source_before_a_second_of_any(case, ceiling):
    question, documents = case
    sources = {one["id"]: one["source_id"] for one in documents}
    on, off = with_and_without("aggregation", question, documents, ceiling=ceiling)
    assert len({sources[one] for one in on}) == 4
    assert len({sources[one] for one in off}) < 4


@pytest.mark.parametrize(
    ("case", "ceiling", "said"),
    [(EN, 145, "3 of 4 sources that were found"), (ZH, 145, "检索到 4 个来源，这里列出 3 个")],
    ids=["en", "zh"],
)
def test_what_may_be_incomplete_is_said_to_the_model(case, ceiling, said):
    question, documents = case
    outcome = packed(question, documents, with_class("aggregation", ceiling=ceiling))
    (sent,) = texts(outcome.body)
    assert said in sent
    assert outcome.decision.evidence_tokens <= ceiling
    silent = packed(question, documents, with_class("aggregation", ceiling=ceiling, rule=None))
    assert said not in texts(silent.body)[0]


def test_where_all_are_shown_nothing_is_said():
    question, documents = EN
    outcome = packed(question, documents, with_class("aggregation"))
    assert "sources that were found" not in texts(outcome.body)[0]


def test_of_a_source_the_most_telling_goes_first_and_who_says_nothing_of_it_last():
    documents = [
        {"text": "Bread and butter.", "source_id": "a", "score": 0.9},
        {"text": "Offices in Ghent, a list.", "source_id": "a", "score": 0.5},
        {"text": "Weather.", "source_id": "b", "score": 0.8},
        {"text": "A list of offices.", "source_id": "c", "score": 0.1},
    ]
    packing = drive(pack(job(passages(documents), question="list offices", max_passages=2), packers.load("topk")))
    assert [one.passage.document.id for one in packing.admitted] == ["d1", "d3"]
    assert packing.shown == (2, 3)
