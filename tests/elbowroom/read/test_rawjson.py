"""The parts of JSON keep their bytes, whichever parser had to cut them."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elbowroom.errors import InvalidRequest
from elbowroom.read.rawjson import decode, elements, entries, is_json, members, sequence, unambiguous, utf8, whole

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
STRINGS = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates included
VALUES = st.recursive(
    SCALARS | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: "), ("\r\n,", " :")])


def dump(value, separators=(",", ":")):
    return json.dumps(value, separators=separators).encode()


@given(st.dictionaries(STRINGS, VALUES, max_size=5), SEPARATORS)
def test_members_are_the_bytes_as_they_came(value, separators):
    data = b" \n" + dump(value, separators) + b"\t"
    parts = members(data)
    assert list(parts) == list(value)
    assert parts == {name: dump(one, separators) for name, one in value.items()}
    assert {name: decode(raw) for name, raw in parts.items()} == value


@given(st.lists(VALUES, max_size=5), SEPARATORS)
def test_elements_are_the_bytes_as_they_came(value, separators):
    data = dump(value, separators)
    assert elements(data) == [dump(one, separators) for one in value]
    assert decode(data) == value


@given(st.lists(st.tuples(STRINGS, VALUES), min_size=2, max_size=6), SEPARATORS)
def test_a_member_given_twice_is_refused_and_nothing_else_is(pairs, separators):
    comma, colon = separators
    inner = comma.join(json.dumps(name) + colon + json.dumps(value, separators=separators) for name, value in pairs)
    data = f"{{{inner}}}".encode()
    if len({name for name, _ in pairs}) == len(pairs):
        assert list(members(data)) == [name for name, _ in pairs]
    else:
        with pytest.raises(InvalidRequest, match="twice"):
            members(data, "here")


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"a":12}',
        b'{"a":12,"a":1}',
        b'{"a":1,"b":1,"a":1}',
        b'{"a":1,"a":1,"b":1}',
        b'{"a":1,"\\u0061":2}',
        b'{"a":"\\ud800","a":1}',
    ],
)
def test_twice_in_every_way_it_can_be_written(data):
    with pytest.raises(InvalidRequest, match="twice"):
        members(data)


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '[{"b":[{"a":1,"\\u0061":2}]}]', '{"a":NaN,"a":1}'])
def test_twice_at_any_depth(text):
    assert not unambiguous(text)
    assert unambiguous('{"a":[{"a":1},{"a":{"a":2}}],"b":{}}')


def test_entries_have_their_names_as_they_are_written():
    text = ' { "a\\u003c" : [1] ,"b\\"" :2}'
    assert entries(text.encode()) == ((b'"a\\u003c"', b"[1]"), (b'"b\\""', b"2"))
    assert entries(b'{"x":"\\ud800"}') == ((b'"x"', b'"\\ud800"'),)
    assert entries(b"{}") == ()
    with pytest.raises(InvalidRequest):
        entries(b'{"a":1,"a":2}')


def test_an_escaped_name_is_the_same_name():
    assert members(b'{"\\u0061\\"b" : [1, 2] }') == {'a"b': b"[1, 2]"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "expected {"),
        (b"[]", "expected {"),
        (b'"\\ud800"', "expected {"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":1} x', "follows"),
        (b'{"a":"\\ud800"} x', "follows"),
        (b'{"a":"\\ud800",}', "Expecting value"),
        (b'{"a":"\\ud800" "b":1}', "expected }"),
        (b'{"a":"\\ud800",1:1}', "string"),
        (b'{"a" "\\ud800"}', "expected :"),
        (b'{"a":"\xff"}', "UTF-8 at byte 1"),
        (b'{"a":"\\ud800\xff"}', "UTF-8 at byte 12"),
        (b'\xef\xbb\xbf{"a":1}', "expected {"),
        (b'{"\xed\xa0\x80":1}', "UTF-8"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a":"\x01"}', "ontrol character"),
    ],
)
def test_what_is_no_object(data, why):
    with pytest.raises(InvalidRequest, match=why) as caught:
        decode(members(data).get("a", b"null"))
    assert caught.value.param is None


@pytest.mark.parametrize("data", [b"1e999", b"[1e999]", b"-1e999", b"NaN", b"1" * 5000, b"[" * 9999, b'"\xff"', b"tru"])
def test_what_is_no_value(data):
    with pytest.raises(InvalidRequest) as caught:
        decode(data, "field")
    assert caught.value.param == "field"
    assert caught.value.message.startswith("field ")


@pytest.mark.parametrize("data", [b"{}", b"[1,]", b'["\\ud800"', b"", b"[1] 2"])
def test_what_is_no_array(data):
    with pytest.raises(InvalidRequest):
        elements(data)


def test_empty_in_both_parsers():
    assert members(b" { } ") == {}
    assert elements(b" [ ] ") == []


def test_numbers_beside_lone_surrogates_are_read_alike():
    assert decode(b'["\\ud800", 1.5, -2e3, 12345678901234567890]') == ["\ud800", 1.5, -2000.0, 12345678901234567890]


@given(STRINGS)
@example("é\ud800")
def test_whole_replaces_halves_of_characters_and_nothing_else(text):
    cured = whole(text)
    cured.encode()
    assert len(cured) == len(text)
    assert all(new in (old, "\ufffd") for new, old in zip(cured, text, strict=True))
    assert whole(cured) == cured
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert cured == text


@pytest.mark.parametrize("text", [' {"a": [1e999, "é\\/", {}]}\r\n', '"\\ud800"', '["\ud800"]', "[-0.5e3]", "null"])
def test_what_is_json(text):
    json.loads(text)
    assert is_json(text)


@pytest.mark.parametrize(
    "text", ["", "[1,]", '{"a" 1}', r'"\x"', '"a\nb"', '"\\ud800", 1', "[01]", "[NaN]", "[1]]", "[" * 99999, "\ufeff[]"]
)
def test_what_is_none(text):
    assert not is_json(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        (' {"a": "}\\ud800"}\n{\n "b": []\n}[1]\r\n', ['{"a": "}\\ud800"}', '{\n "b": []\n}', "[1]"]),
        ('["\ud800"] [2]', ['["\ud800"]', "[2]"]),
        ("[1]", ["[1]"]),
        ("[1] 2", []),
        ("[1], [2]", []),
        ("[1] [2", []),
        ("[1] [NaN]", []),
        ("[1]" + "[" * 99_999, []),
        ("[]" * 50_001, []),
    ],
)
def test_values_one_behind_another(text, values):
    assert sequence(text) == values


@given(STRINGS, st.booleans())
def test_json_is_json_and_half_of_it_is_not(text, ascii_only):
    written = json.dumps([text], ensure_ascii=ascii_only)
    assert is_json(written)
    assert not is_json(written[:-1])


@pytest.mark.parametrize("text", ["", "plain", "é", "é退😀\ud800" * 1000, "a" * 300_000, "退😀" * 200_000 + "\ud800."])
def test_utf8_is_all_of_the_text_halves_of_characters_too(text):
    assert utf8(text) == text.encode("utf-8", "surrogatepass")
