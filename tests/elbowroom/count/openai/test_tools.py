"""Tools as a TypeScript namespace, whatever schema a client sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.count.openai.tools import namespace
from elbowroom.errors import CountUnavailable


def written(parameters: Any, *, older: bool = False, description: Any = None) -> str:
    """What stands between the first and the last line."""
    function = {"name": "f", "description": description, "parameters": parameters}
    lines = namespace([function], older=older).split("\n")
    assert lines[:2] == ["namespace functions {", ""]
    assert lines[-2:] == ["", "} // namespace functions"]
    return "\n".join(lines[2:-2])


def of(schema: Any, **root: Any) -> str:
    """The type of one required property `a`."""
    text = written({"type": "object", "properties": {"a": schema}, "required": ["a"], **root})
    start, end = "type f = (_: { a: ", " }) => any;"
    assert text.startswith(start), text
    assert text.endswith(end), text
    return text[len(start) : -len(end)]


@pytest.mark.parametrize("parameters", [None, {}, 7, {"properties": None}, {"type": "object", "properties": {}}])
def test_a_function_without_parameters(parameters: Any) -> None:
    assert written(parameters) == "type f = () => any;"


def test_several_functions_stand_below_each_other() -> None:
    text = namespace([{"name": "a"}, {"name": "b", "description": "Does b."}])
    assert text == (
        "namespace functions {\n\ntype a = () => any;\n\n// Does b\ntype b = () => any;\n\n} // namespace functions"
    )


def test_without_comments_an_object_takes_one_line() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}}
    assert written({**schema, "required": ["city"]}) == "type f = (_: { city: string, n?: number }) => any;"


def test_with_a_comment_or_a_default_each_property_takes_its_own() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "description": "First.\n   indented line\n\nlast."},
            "b": {"type": "boolean", "default": False},
            "c": {"type": "string", "default": "x y"},
            "d": {"type": "null", "description": ""},
        }
    }
    assert written(schema, description="  Does it.\n").split("\n") == [
        *("// Does it", "type f = (_: {", "// First.", "// indented line", "//", "// last", "a?: string,"),
        *("b?: boolean, // default: false", "c?: string, // default: x y", "d?: null,", "}) => any;"),
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "number"}, "number"),
        ({"enum": ["a", 1, None, "é"]}, '"a" | 1 | null | "é"'),
        ({"const": "x"}, '"x"'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"oneOf": [{"type": "string"}, 5]}, "string | any"),
        ({"type": ["integer", "null"]}, "number | null"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"type": "array", "items": {"enum": [1, 2]}}}, "1 | 2[][]"),
        ({"type": "object"}, "object"),
        ({"properties": {"b": {"type": "boolean"}}}, "{ b?: boolean }"),
        ({"type": "object", "properties": {"b": {"description": "B"}}}, "{\n// B\nb?: any,\n}"),
        ({"allOf": [{"type": "string"}, {"$ref": "#/x"}, 3]}, "string"),
        ({"title": "T", "minimum": 1, "type": "integer", "format": "int32"}, "number"),
        ({"type": "decimal"}, "any"),
        ({"type": 7}, "any"),
        ({}, "any"),
        (True, "any"),
        (None, "any"),
    ],
)
def test_types(schema: Any, expected: str) -> None:
    assert of(schema) == expected


def test_references_are_written_out() -> None:
    defs = {"P": {"type": "object", "properties": {"x": {"$ref": "#/$defs/N"}}}, "N": {"type": "number"}}
    assert of({"$ref": "#/$defs/P"}, **{"$defs": defs}) == "{ x?: number }"
    assert of({"type": "array", "items": {"$ref": "#/$defs/N"}}, **{"$defs": defs}) == "number[]"
    described = {"$ref": "#/$defs/N", "description": "How many."}
    text = written({"properties": {"a": described}, "$defs": defs})
    assert text == "type f = (_: {\n// How many\na?: number,\n}) => any;"


@pytest.mark.parametrize("pointer", ["#/$defs/Z", "#/$defs/Z/deeper", "elsewhere.json", "#/required/0", ""])
def test_a_reference_to_nothing_is_any(pointer: str) -> None:
    assert of({"$ref": pointer}) == "any"


def test_a_reference_inside_of_itself_ends() -> None:
    node = {"type": "object", "properties": {"v": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}}}
    assert of({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}) == "{ v?: string, next?: any }"
    loop = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert of({"$ref": "#/$defs/A"}, **{"$defs": loop}) == "any"


def test_the_same_reference_twice_is_written_twice() -> None:
    defs = {"N": {"type": "number"}}
    schema = {"properties": {"x": {"$ref": "#/$defs/N"}, "y": {"$ref": "#/$defs/N"}}}
    assert of(schema, **{"$defs": defs}) == "{ x?: number, y?: number }"


def bomb() -> dict[str, Any]:
    defs = {f"D{i}": {"properties": {name: {"$ref": f"#/$defs/D{i + 1}"} for name in "abcdefgh"}} for i in range(30)}
    return {"properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": defs}


def all_of_bomb() -> dict[str, Any]:
    wide = {f"k{i}": i for i in range(20_000)}
    return {"properties": {f"p{i}": {"allOf": [{"$ref": "#/wide"}] * 9} for i in range(200)}, "wide": wide}


@pytest.mark.parametrize("parameters", [bomb(), all_of_bomb()])
def test_what_unfolds_without_end_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(CountUnavailable, match="unfolds"):
        written(parameters)


def test_the_functions_field_is_written_in_the_older_way() -> None:
    inner = {"type": "object", "properties": {"k": {"const": "a", "type": "string"}, "d": {"description": "Lost"}}}
    schema = {"properties": {"o": inner, "p": {"type": "string", "description": "Kept"}}}
    assert written(schema, older=True).split("\n") == [
        *("type f = (_: {", "o?: {", "  k?: string,", "  d?: any,", "},", "// Kept", "p?: string,", "}) => any;"),
    ]


KEYS = st.sampled_from(
    ["type", "properties", "items", "enum", "anyOf", "allOf", "$ref", "required", "default", "description", "a"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "array", "#", "#/a", "#/properties/a", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=60)
@given(VALUES, st.booleans())
def test_any_json_is_written_or_refused(value: Any, older: bool) -> None:
    try:
        text = namespace([{"name": "f", "description": value, "parameters": value}], older=older)
    except CountUnavailable:
        return
    assert text == namespace(
        [json.loads(json.dumps({"name": "f", "description": value, "parameters": value}))], older=older
    )
