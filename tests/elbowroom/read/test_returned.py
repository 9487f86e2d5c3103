"""Documents are found in a tool's result in the forms in which frameworks write them, and nowhere else."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.returned import returned
from tests.payloads import PAYLOADS

ONE, TWO = {"id": "d1", "text": "Paris."}, {"id": "d2", "text": "Lyon."}
FOUND = {"type": "search_result", "title": "Geo", "content": [{"type": "text", "text": "Paris."}]}


@pytest.mark.parametrize(
    "name", ["documents", "results", "result", "data", "items", "hits", "search_results", "value", "content"]
)
def test_a_list_is_found_under_its_usual_names(name: str):
    assert returned([json.dumps({"took": 3, name: [ONE, TWO]})]) == [ONE, TWO]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([json.dumps([ONE, TWO])], [ONE, TWO]),
        ([json.dumps(json.dumps([ONE]))], [ONE]),
        ([json.dumps({"result": {"documents": [ONE]}})], [ONE]),
        ([json.dumps({"data": {"text": "Paris."}, "id": "d"})], [{"data": {"text": "Paris."}, "id": "d"}]),
        ([json.dumps(ONE)], [ONE]),
        ([json.dumps(ONE), json.dumps(TWO)], [ONE, TWO]),
        ([json.dumps([{"type": "text", "text": json.dumps(ONE)}, {"type": "text", "text": "b"}])], [ONE, "b"]),
        ([json.dumps({"content": [{"type": "text", "text": json.dumps([ONE, TWO])}]})], [ONE, TWO]),
        ([json.dumps(FOUND)], [FOUND]),
        ([json.dumps({"source": "kb", "content": [ONE, TWO]})], [ONE, TWO]),
        ([json.dumps([[ONE, 0.5], [TWO, 1]])], [{"score": 0.5, **ONE}, {"score": 1, **TWO}]),
        ([str([(ONE, -1e-05)])], [{"score": -1e-05, **ONE}]),
        ([json.dumps([[ONE, True], [0.5, TWO]])], [ONE, True, TWO]),
        ([json.dumps([[ONE, TWO], [[ONE, 1], "a", None]])], [ONE, TWO, {"score": 1, **ONE}, "a"]),
        ([json.dumps([["a", 1], ["b", 2]])], [["a", 1], ["b", 2]]),
        ([json.dumps(["a", None, "b"])], ["a", "b"]),
        ([str([ONE, {"id": None}])], [ONE, {"id": None}]),
        ([str({"results": [ONE]})], [ONE]),
        ([str((ONE, TWO))], [ONE, TWO]),
        ([f"{json.dumps(ONE)}\n\n{json.dumps(TWO)}\n"], [ONE, TWO]),
        ([json.dumps([[{"payload": ONE}, 0.5]])], [{"score": 0.5, **ONE}]),
        ([f'{json.dumps(ONE)}\n{{"text": "a\u2028b\x85c"}}\r\n'], [ONE, {"text": "a\u2028b\x85c"}]),
        ([json.dumps([{**ONE, "score": float("nan")}])], [{**ONE, "score": None}]),
        ([f'{json.dumps(ONE)}\n{{"text": "NaN", "score": NaN}}'], [ONE, {"text": "NaN", "score": None}]),
        (["\ufeff" + json.dumps([ONE])], [ONE]),
        (["{1}"], [1]),
        (["[{1: (2, None)}]"], [{"1": [2, None]}]),
        (["[1j]"], ["[1j]"]),
        (["null"], ["null"]),
        (['""'], []),
        ([json.dumps([])], []),
        ([json.dumps({"documents": []})], []),
        ([json.dumps({"results": [], "message": "none", "data": {"items": []}})], []),
        ([json.dumps({"results": [], "items": [ONE]})], [ONE]),
        ([json.dumps({**ONE, "records": [], "content": None})], [{**ONE, "records": [], "content": None}]),
        (
            [json.dumps({"result": {"points": [{"id": 1, "payload": {"text": "Paris."}}]}})],
            [{"id": 1, "text": "Paris."}],
        ),
        ([json.dumps({"response": {"docs": [ONE]}})], [ONE]),
        (["7"], ["7"]),
        ([json.dumps([7])], [7]),
        ([], []),
        ([""], []),
    ],
)
def test_the_forms(texts: list[str], found: list[Any]):
    assert returned(texts) == found


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital.\n\nLyon is a city.",
        '{"text": "Paris."}\n{"text": ',
        '{"text": "Paris."}\nLyon.',
        "[Document(id='d1', page_content='Paris.')]",
        "{'a': __import__('os')}",
        "[1, 2",
        "[NaN, 2",
        "[" * 5000 + "NaN",
        "{" * 5000,
        "(" * 300,
        "['" + "x" * 200_001 + "']",
    ],
)
def test_other_text_is_one_document_and_nothing_is_run(text: str):
    assert returned([text]) == [text]


@pytest.mark.parametrize(
    "text",
    ["[1+1]", "[a.b]", "[a()]", "[-(1)]", "[f'a']", "['a\\']", "[" + "1," * 20_001 + "]"],
    ids=lambda text: text[:8],
)
def test_what_is_no_value_or_many_is_not_parsed(monkeypatch: pytest.MonkeyPatch, text: str):
    """A sum of 200,000 characters would keep everybody waiting for a second."""
    monkeypatch.setattr(ast, "literal_eval", lambda _: pytest.fail("it was parsed"))
    assert returned([text]) == [text]


def test_parts_of_text_are_one_text_and_objects_beside_them_stay_objects():
    assert returned(["Found", "nothing."]) == ["Found\nnothing."]
    found = returned(["Found:", "2", json.dumps([ONE]), json.dumps(TWO), "and more", '"Lyon"'])
    assert found == ["Found:\n2", ONE, TWO, 'and more\n"Lyon"']


def test_an_escape_that_python_does_not_know_is_no_warning():
    assert returned([r"[{'text': 'a\|b'}]"]) == [{"text": "a\\|b"}]


def test_depth_is_limited():
    value: Any = [ONE]
    for _ in range(9):
        value = {"result": value}
    assert len(returned([json.dumps(value)])) == 1
    nested: Any = json.dumps(ONE)
    for _ in range(6):
        nested = json.dumps([{"type": "text", "text": nested}])
    assert isinstance(returned([nested])[0], str)
    listed: Any = [ONE]
    for _ in range(9):
        listed = [listed]
    (left,) = returned([json.dumps(listed)])
    assert isinstance(left, list)


@given(st.lists(st.sampled_from(PAYLOADS) | st.text(max_size=20), max_size=3))
def test_any_text_is_some_documents(texts: list[str]):
    for one in returned(texts):
        assert one is not None
