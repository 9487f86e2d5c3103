"""Documents in every shape that retrievers use become one shape, or an error that names field and position."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.errors import InvalidDocument
from elbowroom.read.documents import read_documents, read_part, read_returned
from elbowroom.read.returned import returned
from elbowroom.records import Document


def one(value):
    (document,) = read_documents([value], 10)
    return document


def fault(*values):
    with pytest.raises(InvalidDocument) as caught:
        read_documents(list(values), 10)
    assert caught.value.code == "invalid_document"
    return caught.value.param


def test_the_whole_of_it():
    value = {
        "id": "kb#3",
        "text": "t",
        "title": "T",
        "section": "S",
        "source_id": "kb",
        "chunk_index": 3,
        "url": "https://kb.example/1",
        "version": "v",
        "fetched_at": "2026-11-02",
        "supersedes": ["old"],
        "score": 1,
        "rerank_score": 0.5,
        "novelty": 0.25,
        "lang": "en",
        "kind": "kb",
        "summary": "s",
        "highlights": ["h"],
        "parent_id": "p",
        "anchor": "a",
        "access": {"tenant": "x"},
    }
    expected = {**value, "position": 0, "score": 1.0, "supersedes": ("old",), "highlights": ("h",)}
    assert msgspec.structs.asdict(one({**value, "unknown": {"deep": []}})) == {**expected, "message": None}


def test_a_bare_string_is_a_document_without_a_label():
    assert read_documents(["a", "b"], 2) == (Document(0, "d0", "a"), Document(1, "d1", "b"))


@pytest.mark.parametrize(
    "value",
    [
        {"text": "t"},
        {"content": "t"},
        {"page_content": "t"},
        {"pageContent": "t"},
        {"snippet": "t"},
        {"data": {"text": "t"}},
        {"data": {"snippet": "t"}},
        {"node": {"text": "t"}},
        {"document": {"text": "t"}},
        {"document": "t"},
        {"text": "t", "snippet": "other"},
        {"text": None, "content": "t"},
        {"text": "t", "content": "t", "page_content": None},
        {"content": [{"type": "text", "text": "t"}]},
    ],
)
def test_where_a_text_may_be(value):
    assert one(value).text == "t"


def test_parts_are_joined_by_newlines():
    assert one({"content": [{"type": "text", "text": "a"}, {"text": "b"}]}).text == "a\nb"
    assert one({"content": []}).text == ""


@pytest.mark.parametrize("value", [{"text": None}, {"document": None}, {"text": None, "node": {"text": None}}])
def test_no_text_is_legal_if_it_is_said(value):
    assert one(value).text is None


@pytest.mark.parametrize("text", ["", " \n"])
def test_blank_text_is_legal(text):
    assert one({"text": text}).text == text


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"id": "x", "title": "t"},
        {"document": {"title": "t"}},
        {"node": "t"},
        {"lc": 1, "type": "constructor", "id": None, "kwargs": {"page_content": "t"}},
    ],
)
def test_a_text_must_be_named(value):
    assert fault("a", value) == "documents[1]"


@pytest.mark.parametrize(
    ("value", "first", "second"),
    [
        ({"text": "SECRET", "content": "b"}, "text", "content"),
        ({"page_content": "SECRET", "content": "b"}, "content", "page_content"),
        ({"text": "SECRET", "content": "SECRET", "page_content": ""}, "text", "page_content"),
    ],
)
def test_two_texts_that_disagree_are_both_named_and_not_quoted(value, first, second):
    with pytest.raises(InvalidDocument) as caught:
        read_documents([value], 10)
    assert caught.value.param == f"documents[0].{first}, documents[0].{second}"
    assert "SECRET" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"id": "a", "chunk_id": "b"}, "a"),
        ({"id": None, "chunk_id": "b", "doc_id": "c"}, "b"),
        ({"id_": "a"}, "a"),
        ({"node": {"id_": "a"}, "doc_id": "b"}, "a"),
        ({"doc_id": "a", "document_id": "b"}, "a"),
        ({"document_id": 7}, "7"),
        ({"id": -1}, "-1"),
        ({"id": "x" * 256}, "x" * 256),
        ({"metadata": {"id": "shared"}}, "d0"),
        ({}, "d0"),
    ],
)
def test_the_most_specific_id_wins(value, name):
    assert one({"text": "t", **value}).id == name


@pytest.mark.parametrize("name", ["", "x" * 257, True, 1.5, [], {}])
def test_ids_that_cannot_be(name):
    assert fault({"text": "t", "id": name}) == "documents[0].id"


def test_own_ids_keep_clear_of_the_clients():
    documents = read_documents(["a", {"id": "d0", "text": "b"}, {"id": "dd0", "text": "c"}], 10)
    assert [document.id for document in documents] == ["ddd0", "d0", "dd0"]


def test_one_id_one_text():
    same = {"id": "a", "text": "t"}
    assert [document.position for document in read_documents([same, same], 10)] == [0, 1]
    read_documents([{"id": "a", "text": None}, {"id": "a", "text": ""}], 10)
    with pytest.raises(InvalidDocument, match=r"documents\[2\].*documents\[0\]") as caught:
        read_documents([same, "x", {"id": "a", "text": "u"}], 10)
    assert caught.value.param == "documents[2].id"


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        ({"title": "a", "metadata": {"title": "b"}}, "title", "a"),
        ({"metadata": {"title": "b"}, "filename": "c"}, "title", "b"),
        ({"meta": {"file_name": "c"}}, "title", "c"),
        ({"attributes": {"filename": "c"}}, "title", "c"),
        ({"node": {"text": "t", "metadata": {"title": "b"}}}, "title", "b"),
        ({"title": None, "metadata": None, "meta": {"title": "b"}}, "title", "b"),
        ({"metadata": {"title": 1.5}}, "title", None),
        ({"metadata": {"title": ["b"]}, "filename": "c"}, "title", "c"),
        ({"data": {"title": "b"}}, "title", "b"),
        ({"attributes": "x"}, "title", None),
        ({"metadata": {"source": "a.pdf"}}, "source_id", "a.pdf"),
        ({"metadata": {"source": "https://x.example/a"}}, "url", "https://x.example/a"),
        ({"metadata": {"source": "https://x.example/a"}, "url": "u"}, "url", "u"),
        ({"source_id": "kb", "metadata": {"source": "https://x.example/a"}}, "url", None),
        ({"relevance_score": 0.5}, "score", 0.5),
        ({"score": 0.25, "relevance_score": 0.5}, "score", 0.25),
        ({"metadata": {"relevance_score": 0.5}}, "score", 0.5),
        ({"metadata": {"score": "0.5"}}, "score", None),
        ({"version": 3}, "version", "3"),
        ({"supersedes": "a"}, "supersedes", ("a",)),
        ({"highlights": []}, "highlights", ()),
        ({"metadata": {"highlights": {"a": 1}}}, "highlights", ()),
        ({"metadata": {"access": {"tenant": "x"}}}, "access", {"tenant": "x"}),
        ({"access": {"tenant": "x"}, "metadata": {"access": {"tenant": "y"}}}, "access", {"tenant": "x"}),
        ({"metadata": {}, "attributes": {"access": {"tenant": "x"}}}, "access", {"tenant": "x"}),
        ({"metadata": {"access": None}, "meta": {"access": "internal"}}, "access", {}),
        ({"metadata": {"access": None}, "meta": {"access": None}}, "access", None),
        ({"document": {"access": {"tenant": "x"}}}, "access", {"tenant": "x"}),
        ({"node": {"access": "internal"}, "metadata": {}}, "access", {}),
        ({"payload": {"access": {"tenant": "x"}}, "document": "d"}, "access", {"tenant": "x"}),
        ({"access": {"n": [1, "\ud800"], "\udfff": None}}, "access", {"n": [1, "\ufffd"], "\ufffd": None}),
        ({"chunk_index": 0}, "chunk_index", 0),
    ],
)
def test_where_the_rest_may_be(value, field, expected):
    assert getattr(one({"text": "t", **value}), field) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("score", "0.5"),
        ("score", True),
        ("score", 10**400),
        ("score", float("inf")),
        ("rerank_score", "1"),
        ("relevance_score", []),
        ("novelty", "x"),
        ("title", 1.5),
        ("title", {}),
        ("section", []),
        ("source_id", True),
        ("chunk_index", "3"),
        ("chunk_index", 1.5),
        ("chunk_index", False),
        ("url", {}),
        ("supersedes", [1]),
        ("supersedes", {}),
        ("highlights", 1),
        ("access", "public"),
        ("metadata", "x"),
        ("text", 1),
        ("text", ["x"]),
        ("text", [{"type": "image"}]),
    ],
)
def test_wrong_types_are_named(name, value):
    assert fault("a", {"text": "t", name: value}) == f"documents[1].{name}"


def test_a_broken_label_is_an_error_in_the_metadata_too():
    assert fault({"text": "t", "metadata": {"access": ["acme"]}}) == "documents[0].access"


@pytest.mark.parametrize("value", [None, 1, [], True])
def test_elements_that_are_no_documents(value):
    assert fault("a", value) == "documents[1]"


@pytest.mark.parametrize("value", [{}, "text", 1, None])
def test_no_list(value):
    with pytest.raises(InvalidDocument) as caught:
        read_documents(value, 10)
    assert caught.value.param == "documents"


ALIASES = "id id_ chunk_id text content page_content snippet data node document metadata title source url score access"
NAMES = st.sampled_from(ALIASES.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(NAMES, JSON, max_size=5) | st.text(max_size=4), max_size=4))
def test_anything_is_read_whole_or_refused_by_name(values):
    documents: tuple[Document, ...] = ()
    refusal = None
    try:
        documents = read_documents(values, 4)
    except InvalidDocument as error:
        refusal = error
    if refusal is not None:
        assert (refusal.param or "").startswith("documents[")
        return
    assert [document.position for document in documents] == list(range(len(values)))
    for document in documents:
        for text in (document.id, document.text, document.title, document.source, document.url, repr(document.access)):
            (text or "").encode()  # no lone surrogate is left


# --- what tools return ------------------------------------------------------------------------------------------------


def back(value: Any) -> Document:
    (document,) = read_returned([value], 7)
    assert document.position == 7
    return document


def test_what_a_tool_returned_is_read_like_what_a_client_tags():
    assert back({"id": "a", "text": "Paris.", "score": 0.5}) == Document(7, "a", "Paris.", score=0.5)
    assert back("Paris.") == Document(7, "d7", "Paris.")


def test_what_is_wrong_in_it_is_left_out():
    assert back({"id": [], "text": "Paris.", "title": 7.5, "score": "high"}) == Document(7, "d7", "Paris.")
    assert back({"id": "a", "text": "One.", "content": "Two."}) == Document(7, "a", "One.")
    assert back({"id": "a" * 300, "content": 7, "snippet": "Paris.", "url": "u"}) == Document(
        7, "d7", "Paris.", url="u"
    )
    assert back({"text": None, "title": []}).text == '{"text":null,"title":[]}'


def test_what_has_no_text_says_its_json_without_vectors():
    row = {"id": "a", "name": "Paris", "embedding": [1.0], "x": [0.5] * 40, "deep": [{"vector": [1], "n": [1, 2]}]}
    assert back(row) == Document(7, "a", '{"id":"a","name":"Paris","deep":[{"n":[1,2]}]}')
    assert back(7) == Document(7, "d7", "7")
    assert back([[0.5] * 3]).text == "[[0.5,0.5,0.5]]"


@pytest.mark.parametrize("depth", [70, 400, 900])
def test_nothing_is_too_deep(depth: int):
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    assert (back({"name": "Paris", "x": deep}).text or "").startswith('{"name":"Paris","x":[[')
    assert back({"text": "Paris.", "access": {"tenant": deep}}).access is not None
    assert one({"text": "Paris.", "metadata": {"access": {"tenant": "acme", "x": deep}}}).access["tenant"] == "acme"


def test_a_label_that_cannot_be_read_still_stands_for_a_restriction():
    assert back({"text": "Paris.", "access": "everybody"}).access == {}
    assert back({"text": "Paris.", "metadata": {"access": 7}, "title": []}).access == {}
    assert back({"text": "Paris.", "access": {"label": "x"}, "title": []}).access == {"label": "x"}
    assert back({"text": "Paris.", "metadata": {}, "meta": {"access": {"label": "x"}}, "title": []}).access == {}
    assert back({"text": "Paris.", "metadata": 7}).access is None


def test_a_part_says_where_it_was():
    assert read_part({"text": "Paris."}, 3, "here") == Document(3, "d3", "Paris.")
    with pytest.raises(InvalidDocument, match=r"^here\.title must be") as caught:
        read_part({"text": "Paris.", "title": []}, 3, "here")
    assert caught.value.param == "here.title"
    with pytest.raises(InvalidDocument, match=r"^here has no text"):
        read_part({}, 3, "here")


# --- what libraries hand over -----------------------------------------------------------------------------------------

LIBRARIES = Path(__file__).parents[2] / "fixtures" / "libraries"
TEXTS = ["Annual plans are refunded within fourteen days.", "年度方案可在十四天内退款。"]
SHAPES = [
    (file.stem, name, shape)
    for file in sorted(LIBRARIES.glob("*.json"))
    for name, shape in json.loads(file.read_text("utf-8")).items()
    if name not in ("made_with", "tool_content")  # the latter are parts of messages: `embedded` reads them
]


@pytest.mark.parametrize(("library", "name", "shape"), SHAPES, ids=[f"{one} {two}" for one, two, _ in SHAPES])
def test_documents_of_a_library_pass_as_they_are(library: str, name: str, shape: Any):
    """As a tag where it is a list of objects, and as a tool's result in any case."""
    text = shape if isinstance(shape, str) else json.dumps(shape, ensure_ascii=False)
    through_tool = read_returned(returned([text]), 0)
    if name == "tool_text":  # a notation that nothing can be read from: one document
        assert [document.text for document in through_tool] == [shape]
        return
    if name == "rerank_response":  # it has indexes and no texts
        assert [json.loads(document.text or "")["index"] for document in through_tool] == [0, 1]
        return
    read = [through_tool]
    if isinstance(shape, list) and name != "with_scores":
        read.append(read_documents(shape, 10))
    for documents in read:
        assert [document.text for document in documents] == TEXTS
        if name != "rerank_results":
            assert [document.id for document in documents] == ["kb-7#0", "kb-7#1"]
            assert [document.title for document in documents] == ["Refund policy", "退款政策"]
            assert {document.url for document in documents} == {"https://kb.example/7"}
        if library != "cohere" and name != "node":
            assert [document.score for document in documents] == [0.91, 0.42]


def test_every_library_has_left_its_shapes():
    assert {library for library, _, _ in SHAPES} == {"cohere", "haystack", "langchain", "llama_index", "reranker"}
