"""Values go by their paths, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.redact import without_paths

ROWS = {"total": 2.0, "rows": [{"mail": "a@x", "name": "A", "in": {"mail": "b@x"}}, {"name": "B"}, 7]}


def kept(value: Any, *paths: str) -> tuple[Any, int]:
    found = without_paths(json.dumps(value), paths)
    assert found is not None
    return json.loads(found[0]), found[1]


def test_a_path_goes_through_lists_and_objects():
    without = {"total": 2.0, "rows": [{"name": "A", "in": {"mail": "b@x"}}, {"name": "B"}, 7]}
    assert kept(ROWS, "rows.mail") == (without, 1)
    assert kept([ROWS], "rows.in.mail", "rows.mail")[1] == 2
    assert kept(ROWS, "rows.*")[0] == {"total": 2.0, "rows": [{}, {}, 7]}
    assert kept(ROWS, "*") == ({}, 2)
    assert kept(ROWS, "*.in.*")[0]["rows"][0]["in"] == {}
    assert kept(ROWS, "nowhere", "total.deeper") == (ROWS, 0)


def test_a_member_that_is_called_as_any_name_hides_no_other():
    value = {"*": {"note": 1}, "a": {"note": "hers"}, "*.note": 2}
    assert kept(value, "*.note") == ({"*": {}, "a": {}, "*.note": 2}, 2)
    assert kept([value], "*") == ([{}], 3)


@pytest.mark.parametrize(("before", "behind", "path"), [("[", "]", "a"), ('{"b":', "}", "b." * 800 + "a")])
def test_no_depth_is_too_deep_that_a_parser_takes(before: str, behind: str, path: str):
    text = before * 800 + '{"a":"hers"}' + behind * 800
    assert without_paths(text, (path,)) == (before * 800 + "{}" + behind * 800, 1)


def test_where_nothing_is_dropped_the_bytes_are_the_tools_own():
    assert without_paths(' {"a": 1.0,  "b":"\\u00e9"} ', ("c",)) == (' {"a": 1.0,  "b":"\\u00e9"} ', 0)
    assert without_paths(' {"a": 1.0,  "b":"\\u00e9"} ', ("a",)) == ('{"b":"é"}', 1)
    assert without_paths('{"a":1,"a":2,"b":3}', ("a",)) == ('{"b":3}', 1)


@pytest.mark.parametrize(
    "text", ['{"a":{"b":"hers"},"a":{}}', '[{"c":1,"\\u0063":2}]', '{"c":1}\n{"a":{"b":1},"a":{}}']
)
def test_what_a_member_given_twice_hides_is_not_shown(text: str):
    assert without_paths(text, ("a.b",)) is None


@pytest.mark.parametrize("name", ["ma\u200bil", "mail\u00ad", "\ufeffmail", "ma\x7fil"])
def test_hidden_characters_hide_no_name(name: str):
    for ascii_only in (True, False):
        text = json.dumps([{name: "hers", "mail": 1, "m\u00e4il": 2}], ensure_ascii=ascii_only)
        assert without_paths(text, ("mail",)) == ('[{"m\u00e4il":2}]', 2)


def test_json_on_every_line():
    assert without_paths('{"a":1,"b":2}\n\n{"a":3}\n', ("a",)) == ('{"b":2}\n\n{}\n', 2)
    assert without_paths('{\n"a":1,"b":2}\n{\n"b":{"a":3}}', ("a",)) == ('{"b":2}\n{\n"b":{"a":3}}', 1)


@pytest.mark.parametrize("text", ["", "  ", "plain", '{"a":1', '{"a":1}\nplain', "[1,]", '"a"'])
def test_where_nobody_can_say_what_stands_where_there_is_no_answer(text: str):
    assert without_paths(text, ("a",)) is None


VALUES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), one, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2))
def test_nothing_of_that_name_is_left_on_its_level(value: dict[str, Any]):
    left, gone = kept(value, "a")
    assert left == {name: one for name, one in value.items() if name != "a"}
    assert gone == ("a" in value)
