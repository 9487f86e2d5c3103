"""The largest instance of a schema: as text what has a text, as tokens what has none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.policy import Answer
from elbowroom.read.schema import MAX_NODES, MAX_TEXT, Instance, largest_instance

ANSWER = Answer(schema_string_tokens=64, schema_array_items=3)


def largest(schema):
    return largest_instance(schema, ANSWER)


@pytest.mark.parametrize(
    ("schema", "text", "constant"),
    [
        ({"type": "string"}, '""', 64),
        ({"type": "string", "maxLength": 10}, '""', 10),
        ({"type": "string", "maxLength": 100}, '""', 64),
        ({"type": "string", "maxLength": 1001}, '""', 501),
        ({"type": "string", "maxLength": -1}, '""', 64),
        ({"type": "string", "format": "date"}, '"2026-12-31"', 0),
        ({"type": "string", "format": "email"}, '""', 64),
        ({"type": "integer"}, "-9007199254740991", 0),
        ({"type": "integer", "minimum": 0, "maximum": 1000}, "1000", 0),
        ({"type": "integer", "minimum": 0}, "-9007199254740991", 0),
        ({"type": "number", "minimum": 0, "maximum": 1}, "-12345678.12345678", 0),
        ({"type": "boolean"}, "false", 0),
        ({"type": "null"}, "null", 0),
        ({"const": {"a": 1}}, '{"a": 1}', 0),
        ({"enum": ["a", "long one", 3]}, '"long one"', 0),
        ({"enum": []}, '""', 64),
        ({"type": ["string", "null"]}, '""', 64),
        ({"type": []}, '""', 64),
        ({}, '""', 64),
        ({"type": "array", "items": {"type": "boolean"}}, "[false, false, false]", 0),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, "[null]", 0),
        ({"type": "array", "items": {"type": "null"}, "minItems": 4}, "[null, null, null, null]", 0),
        ({"type": "array", "maxItems": 0}, "[]", 0),
        ({"items": {"type": "null"}, "maxItems": 2}, "[null, null]", 0),
        ({"prefixItems": [{"type": "null"}], "items": False}, "[null]", 0),
        ({"prefixItems": [{"type": "null"}], "items": {"type": "boolean"}, "maxItems": 2}, "[null, false]", 0),
        ({"type": "array"}, '["", "", ""]', 192),
        ({"type": "object"}, '{"name": "", "name": "", "name": ""}', 192),
        ({"type": "object", "additionalProperties": False}, "{}", 0),
        ({"additionalProperties": {"type": "null"}, "type": "object"}, '{"name": null, "name": null, "name": null}', 0),
        ({"properties": {"a": {"type": "null"}, "ü": {"type": "string"}}}, '{"a": null, "ü": ""}', 64),
        ({"anyOf": [{"type": "null"}, {"const": "x" * 20}]}, f'"{"x" * 20}"', 0),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, '""', 64),
        ({"anyOf": [{"type": "null"}], "type": "string"}, '""', 64),
        ({"anyOf": "x"}, '""', 64),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, 3], "properties": {"b": {"const": 2}}}, '{"b": 2, "a": 1}', 0),
        ({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "null"}}}, "null", 0),
        ({"$ref": "#/$defs/a~1b~0", "$defs": {"a/b~": {"type": "null"}}}, "null", 0),
        ({"$ref": "#/$defs/missing"}, '""', 64),
        ({"$ref": "other.json"}, '""', 64),
        ({"properties": {"a": True}}, '{"a": ""}', 64),
        ({"const": "\ud800"}, '"\ufffd"', 0),
    ],
)
def test_largest(schema, text, constant):
    assert largest(schema) == Instance(text, constant)


def test_recursion_is_unrolled_once():
    node = {
        "type": "object",
        "properties": {"v": {"const": 1}, "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}},
    }
    instance = largest({"$ref": "#/$defs/n", "$defs": {"n": node}})
    assert instance == Instance('{"v": 1, "next": {"v": 1, "next": null}}', 0)
    tree = {"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    assert largest(tree).text.count("kids") == 1 + 3 + 9


def test_what_has_no_sensible_size():
    wide = {"type": "array", "maxItems": MAX_NODES + 1, "items": {"type": "null"}}
    assert largest(wide) is None
    assert largest({"type": "array", "maxItems": 10**12, "items": {"type": "null"}}) is None
    assert largest({"type": "array", "items": {"const": "x" * MAX_TEXT}}) is None
    assert largest({"properties": {"a": {"const": "x" * MAX_TEXT}, "b": {"const": "x"}}}) is None
    deep: dict[str, Any] = {"type": "null"}
    for _ in range(9):
        deep = {"type": "array", "items": deep}
    assert largest(deep) is None  # 3 ** 9 values
    for _ in range(2000):
        deep = {"type": "array", "items": deep, "maxItems": 1}
    assert largest(deep) is None


SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"type": "integer"}, {"type": "null"}, {"enum": ["a", 1]}, {"$ref": "#"}, True, 3, {}]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"maxItems": st.integers(-1, 9)}),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(
            lambda named: {"type": "object", "properties": named}
        ),
        st.lists(inner, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.lists(inner, max_size=3).map(lambda parts: {"allOf": parts}),
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_an_instance_is_json_and_bounded(schema):
    instance = largest(schema if isinstance(schema, dict) else {"properties": {"a": schema}})
    if instance is not None:
        json.loads(instance.text)
        assert instance.constant >= 0
        assert len(instance.text) <= MAX_TEXT * 2
        assert instance.constant == 64 * (instance.constant // 64)
