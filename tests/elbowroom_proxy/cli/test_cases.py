"""Cases: what a line holds, what is wrong with one, and how candidates are spoilt on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom.account.evaluate import Alternative, Expected
from elbowroom_proxy.cli.cases import Case, Variant, read_cases, read_passages

PASSAGES: dict[str, dict[str, Any]] = {
    ident: {"id": ident, "title": f"Page {ident}", "text": f"text of {ident}"} for ident in "abcd"
}
LINE = {
    "id": "one",
    "lang": "en",
    "dataset": "d",
    "class": "how_to",
    "question": "How?",
    "history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "answers": ["so"],
    "document_ids": ["a", "b", "c"],
    "scores": [9.0, 5.0, 1.0],
    "expected": [[{"id": "a", "quotes": ["text"], "match": "any"}, {"id": "d"}]],
}


def read(*rows: Any) -> tuple[list[Case], list[str]]:
    data = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return read_cases(data.encode(), PASSAGES)


def one(**more: Any) -> Case:
    ((case,), faults) = read({**LINE, **more})
    assert faults == []
    return case


def test_a_line_is_a_case():
    case = one()
    assert (case.id, case.lang, case.dataset, case.query_class) == ("one", "en", "d", "how_to")
    assert case.expected == Expected(((Alternative("a", ("text",), True), Alternative("d")),), ("so",), False)
    assert case.texts == {"a": "text of a", "d": "text of d"}
    body = json.loads(case.request("m"))
    assert body["messages"] == [*LINE["history"], {"role": "user", "content": "How?"}]
    assert [(doc["id"], doc["score"]) for doc in body["documents"]] == [("a", 9.0), ("b", 5.0), ("c", 1.0)]
    assert PASSAGES["a"].keys() == {"id", "title", "text"}


def test_documents_may_be_inline_with_texts_that_only_they_have():
    inline = [{"id": "x", "content": "mine", "score": 2}, {"text": "no id"}, {"id": "y", "text": None}]
    case = one(documents=inline, scores=None, expected=[[{"id": "x"}], [{"id": "y"}]], answer="so [x]")
    assert case.documents == tuple(inline)
    assert case.texts == {"x": "mine", "y": ""}
    assert case.answer == "so [x]"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{", "not JSON"),
        ({**LINE, "id": 5}, "$.id"),
        ({**LINE, "expected": []}, "expected is empty"),
        ({**LINE, "expected": [[]]}, "expected is empty"),
        ({**LINE, "document_ids": ["a", "zz"]}, "no passage has the id zz"),
        ({**LINE, "scores": [1.0]}, "3 documents and 1 scores"),
        ({**LINE, "expected": [[{"id": "a", "match": "most"}]]}, "match"),
        (LINE, "another case one"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(row, fault):
    cases, faults = read(LINE, row, {**LINE, "id": "two"})
    assert [case.id for case in cases] == ["one", "two"]
    assert len(faults) == 1
    assert faults[0].startswith("2: ")
    assert fault in faults[0]


def test_passages_by_id_and_what_is_none():
    rows = [{"id": "a", "text": "t"}, {"id": "b"}, {"text": "t"}, "nothing"]
    found, faults = read_passages("\n".join(json.dumps(row) for row in rows).encode())
    assert list(found) == ["a"]
    assert [fault[:2] for fault in faults] == ["2:", "3:", "4:"]


def test_titles_scores_and_order_can_be_taken_away():
    bare = one().varied(Variant(("titles", "scores")))
    assert [set(doc) for doc in bare.documents] == [{"id", "text"}] * 3
    orders = [[doc["id"] for doc in one(id=str(n)).varied(Variant(("order",))).documents] for n in range(20)]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert len({tuple(order) for order in orders}) > 2
    assert one().documents[0]["title"] == "Page a"


def test_scores_move_by_a_share_of_their_range_and_the_same_way_each_time():
    spoilt = one().varied(Variant(jitter=0.3))
    moved = [doc["score"] - was for doc, was in zip(spoilt.documents, (9.0, 5.0, 1.0), strict=True)]
    assert all(0 < abs(by) <= 0.3 * 8 for by in moved)
    assert spoilt == one().varied(Variant(jitter=0.3))
    assert one(scores=None).varied(Variant(jitter=0.3)).documents == one(scores=None).documents


def test_only_the_best_few_by_their_scores():
    case = one(scores=[1.0, 9.0, 5.0])
    assert [doc["id"] for doc in case.varied(Variant(top_k=2)).documents] == ["b", "c"]
    assert [doc["id"] for doc in one(scores=None).varied(Variant(top_k=2)).documents] == ["a", "b"]
    assert len(case.varied(Variant(top_k=9)).documents) == 3


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        (Variant(), "as given"),
        (
            Variant(("titles", "order"), 0.3, 4),
            "without titles, without order, scores jittered by 0.3 of their range, the best 4",
        ),
    ],
)
def test_a_variant_says_what_it_is(variant, said):
    assert str(variant) == said
