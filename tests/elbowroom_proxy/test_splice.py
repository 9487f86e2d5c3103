"""What is changed is changed, and every other byte stays."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy import splice

NAMES = st.sampled_from(["a", "b", "usage", 'q"\\', "", "中"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
FORMATS = st.sampled_from([{"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}])


def written(value: object, how: dict) -> bytes:
    return json.dumps(value, **how).encode()


@given(OBJECTS, FORMATS)
def test_children_are_the_members_in_order(value: dict, how: dict):
    data = written(value, how)
    found = list(splice.children(data))
    assert [json.loads(data[child.value : child.end]) for child in found] == list(value.values())
    for child, name in zip(found, value, strict=True):
        assert json.loads(b"{" + data[child.start : child.end] + b"}") == {name: value[name]}


@given(st.lists(VALUES, max_size=4), FORMATS)
def test_children_are_the_elements_in_order(value: list, how: dict):
    data = written(value, how)
    found = list(splice.children(data))
    assert [child.name for child in found] == list(range(len(value)))
    assert [json.loads(data[child.value : child.end]) for child in found] == value


@given(OBJECTS, VALUES, FORMATS)
def test_replace_changes_one_value(value: dict, other: object, how: dict):
    data = written({"first": 1, "deep": [{"x": value}, 2]}, how)
    new = splice.replace(data, written(other, how), "deep", 0, "x")
    assert json.loads(new) == {"first": 1, "deep": [{"x": other}, 2]}
    assert splice.replace(new, written(value, {"indent": 1} if how == {"indent": 1} else how), "deep", 0, "x")
    at = splice.find(data, "deep", 0, "x")
    assert new.startswith(data[: at.value])
    assert new.endswith(data[at.end :])


@given(OBJECTS, FORMATS)
def test_add_and_without_are_inverse(value: dict, how: dict):
    data = written(value, how)
    with_usage = splice.add(data, "report", b'{"x":[1]}')
    assert json.loads(with_usage) == {**value, "report": {"x": [1]}}
    assert splice.without(with_usage, "report") == data
    assert json.loads(splice.without(data, "usage")) == {k: v for k, v in value.items() if k != "usage"}


def test_what_has_no_end_has_the_members_that_ended():
    data = b'{"a":[1],"b":2'
    assert [child.name for child in splice.children(data)] == ["a"]


def test_names_are_compared_as_they_are_meant():
    assert splice.replace(b'{"us\\u0061ge":1}', b"2", "usage") == b'{"us\\u0061ge":2}'


def test_a_name_written_twice():
    data = b'{"a":1, "a" : {"b":2}, "c":3}'
    assert splice.replace(data, b"9", "a", "b") == b'{"a":1, "a" : {"b":9}, "c":3}'
    assert splice.without(data, "a") == b'{"c":3}'
    assert splice.without(b'{ "a":1 }', "a") == b"{  }"
    assert splice.add(b' { "d" : { } }', "e", b"1", "d") == b' { "d" : {"e":1 } }'


@pytest.mark.parametrize("path", [("x",), ("a", "x"), ("a", 0), ("s", "a"), ("l", 1)])
def test_nothing_there(path: tuple):
    data = b'{"a":{"b":1},"s":"{\\"a\\":1}","l":[0]}'
    with pytest.raises(KeyError):
        splice.find(data, *path)
    with pytest.raises(KeyError):
        splice.add(data, "n", b"1", *path)


ANY = msgspec.json.Decoder(dict[str, int | str])


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}),
        (b'{"a":"\\ud83d","b":[]}', None),
        (b'{"a":[]}', None),
        (b"[" * 100_000, None),
        (b'{"a":' * 100_000, None),
        (b'{"a":"\xff"}', None),
        (b"nothing", None),
    ],
)
def test_read_takes_lone_surrogates_and_refuses_the_rest(data: bytes, value: object):
    assert splice.read(data, ANY) == value


def test_a_mark_of_the_encoding_is_passed_over():
    data = b'\xef\xbb\xbf {"a": 1}'
    assert splice.read(data, msgspec.json.Decoder(dict)) == {"a": 1}
    assert splice.add(splice.replace(data, b"2", "a"), "b", b"3") == b'\xef\xbb\xbf {"a": 2,"b":3}'
    assert splice.read('{"a": 1}'.encode("utf-16"), msgspec.json.Decoder(dict)) is None


@given(st.text(st.characters(exclude_categories=())))
def test_quote_keeps_every_character(text: str):
    assert json.loads(splice.quote(text)) == text
    assert json.loads(splice.quote({text: [text, 1]})) == {text: [text, 1]}


def test_a_member_goes_from_inside():
    assert splice.without(b'{"a":{"b":1,"c":2}}', "b", "a") == b'{"a":{"c":2}}'
    assert splice.without(b'{"a":[{"b":1}]}', "b", "a", 0) == b'{"a":[{}]}'
    with pytest.raises(KeyError):
        splice.without(b"{}", "b", "a")
