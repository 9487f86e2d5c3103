"""What stores return is read as documents, and no label gets lost on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.documents import read_returned
from elbowroom.read.returned import returned
from elbowroom.read.stores import rows, unwrapped

LABEL, OTHER = {"label": "internal"}, {"label": "restricted"}


def read(value: Any) -> list[tuple[Any, ...]]:
    return [
        (one.id, one.text, one.title, one.score, one.access) for one in read_returned(returned([json.dumps(value)]), 0)
    ]


def test_columns_of_a_query_and_of_a_get():
    metadatas = [{"title": "P", "access": LABEL}, None]
    columns = {"ids": ["a", "b"], "documents": ["Paris.", "Lyon."], "metadatas": metadatas}
    found = [("a", "Paris.", "P", None, LABEL), ("b", "Lyon.", None, None, None)]
    assert read({**columns, "embeddings": None, "included": ["documents"]}) == found
    asked = {name: [column] for name, column in columns.items()}
    assert read({**asked, "distances": [[0.1, 0.2]], "data": None, "uris": None}) == found
    twice = {"ids": [["a"], ["b"]], "documents": [["Paris."], ["Lyon."]], "metadatas": [[metadatas[0]], [None]]}
    assert read(twice) == found
    assert returned([str(twice)]) == returned([json.dumps(twice)])
    assert read({"documents": ["Paris."], "scores": [0.5]}) == [("d0", "Paris.", None, 0.5, None)]
    assert read({"documents": [], "ids": []}) == []


def test_what_is_no_column_is_a_list_as_any_other():
    assert rows({"documents": ["Paris."]}) is None
    assert rows({"documents": None, "ids": ["a"]}) is None
    assert rows({"documents": [{"text": "Paris."}], "ids": ["a"]}) is None
    assert read({"documents": ["Paris."]}) == [("d0", "Paris.", None, None, None)]


@pytest.mark.parametrize("metadatas", [[], [LABEL], [[{"access": LABEL}]], [[], [], []], [[], 7], ["x", "y"]])
def test_where_columns_do_not_match_nobody_may_read_the_documents(metadatas: Any):
    texts: Any = ["Paris.", "Lyon."]
    for documents in (texts, [texts], [texts[:1], texts[1:]]):
        found = read({"ids": ["a"], "documents": documents, "metadatas": metadatas})
        assert [(text, access) for _, text, _, _, access in found][-1] == ("Lyon.", {})


@pytest.mark.parametrize(
    "item",
    [
        {"id": 7, "score": 0.5, "payload": {"text": "Paris.", "title": "P"}, "vector": None},
        {"id": 7, "score": 0.5, "payload": {"page_content": "Paris.", "metadata": {"title": "P"}}},
        {"_id": "7", "_score": 0.5, "_index": "kb", "_source": {"content": "Paris.", "title": "P"}},
        {"id": 7, "score": 0.5, "entity": {"text": "Paris.", "title": "P"}},
        {"id": "7", "score": 0.5, "values": [], "metadata": {"text": "Paris.", "title": "P"}},
    ],
)
def test_wrappings(item: dict[str, Any]):
    assert read({"matches": [item]}) == read(item) == [("7", "Paris.", "P", 0.5, None)]


def test_what_has_no_wrapping_stays_as_it_is():
    for item in ({"text": "Paris.", "payload": {"text": "Lyon."}}, {"payload": {"n": 1}}, {"payload": 1}, {}):
        assert unwrapped(item) is item


@given(
    st.sampled_from(["payload", "_source", "entity", "metadata"]),
    st.sets(st.sampled_from(["beside", "inside", "metadata beside", "metadata inside"])),
)
def test_a_label_counts_wherever_it_stands_and_two_are_none(wrapping: str, places: set[str]):
    if wrapping == "metadata":
        places = places - {"metadata beside"}
    item: dict[str, Any] = {wrapping: {"text": "Paris."}}
    labels = iter((LABEL, OTHER, LABEL, OTHER))
    for place in sorted(places):
        inside = item[wrapping] if "inside" in place else item
        if "metadata" in place:
            inside = inside.setdefault("metadata", {})
        inside["access"] = next(labels)
    ((_, text, _, _, access),) = read([item])
    assert (text, access) == ("Paris.", None if not places else LABEL if len(places) == 1 else {})
