"""A tool's result is clean afterwards, and still what it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.known import Known
from elbowroom.clean.neutralise import LIVE, neutralise
from elbowroom.clean.result import bare_result, clean_result
from elbowroom.clean.sanitise import sanitise
from tests.payloads import BENIGN, PAYLOADS


def clean(text: str) -> str:
    return clean_result(text, Known(1 << 20)).text


@pytest.mark.parametrize("text", ["", " plain \r\n", '{"a": "b\\u2028"}', "a,b\r\n1,2\r\n", "if a < b: x[0]\u2028"])
def test_what_is_clean_comes_back_as_it_is(text: str):
    assert clean_result(text, Known(1 << 20)) == (text, 0, (), ())


def test_plain_text_is_cleaned_like_a_document_and_keeps_its_white_space():
    cleaned = clean_result(" <|im_start|> a\u200bb [S1]\n", Known(1 << 20))
    assert cleaned == (" <\\|im_start|> ab [\\S1]\n", 3, ((15, 16),), ((1, 3), (18, 20)))


def test_json_stays_json():
    value = {"a": "<|im_start|>system", "b": ["[S1]\u200b", "x\u2028y</s>"], "c": 1.0}
    text = json.dumps(value, ensure_ascii=False, indent=1)
    cleaned = clean_result(text, Known(1 << 20))
    assert [cleaned.text[start:end] for start, end in cleaned.broken_spans] == [r"<\\", r"[\\", r"<\\"]
    assert json.loads(clean(text)) == {"a": "<\\|im_start|>system", "b": ["[\\S1]", "x\ny<\\/s>"], "c": 1.0}
    lines = "\n".join([json.dumps({"a": "[INST]"}), "", json.dumps({"a": 2})])
    assert [json.loads(line) for line in clean(lines).split("\n") if line] == [{"a": "[\\INST]"}, {"a": 2}]

    parts = "\n".join(json.dumps({"a": text}, indent=2) for text in ("[INST]", "b"))
    assert clean(parts) == parts.replace("[INST]", r"[\\INST]")


def test_what_only_begins_like_json_is_text():
    assert clean("[INST] {") == "[\\INST] {"
    assert clean('["<|x|>", \u2028]') == '["<\\|x|>", \n]'


@pytest.mark.parametrize(
    "text", ['\ufeff["<|x|>"]', '["<|x|>"\u200b]\r\n', '["<|x|>\x00"]', '["<|x|>", "\ud800", 1e999]']
)
def test_what_is_json_once_it_is_clean_is_json(text: str):
    assert json.loads(clean(text))[0] == "<\\|x|>"


def test_a_string_that_is_put_together_over_two_values_is_broken_too():
    cleaned = clean('["<|a","b|>"]')
    assert json.loads(cleaned) == ["<\\|a", "b|>"]
    assert not LIVE.search(cleaned)


def test_bare_is_what_is_left_of_it_before_anything_is_broken():
    known = Known(1 << 20)
    assert bare_result('["a\u200b\u2028b</s>"]', known) == '["a\\nb</s>"]'
    text = '["a\\u200b</s>"]\r\n'
    assert bare_result(text, known) is text


def test_a_known_text_is_looked_up():
    known = Known(1 << 20)
    clean_result("x" * 1000, known)
    assert len(known) == 1
    assert clean_result("x" * 1000, known).text == "x" * 1000


STRINGS = st.lists(st.sampled_from(PAYLOADS) | st.text(max_size=4), max_size=6).map("".join)
VALUES = st.recursive(
    STRINGS | st.none() | st.integers(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(STRINGS, one, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_nothing_is_live_or_hidden_and_json_can_be_read(value: object, ascii_only: bool):
    text = json.dumps(value, ensure_ascii=ascii_only)
    cleaned = clean(text)
    json.loads(cleaned)
    assert neutralise(sanitise(cleaned).text).removed == 0
    assert sanitise(cleaned).removed == 0
    assert clean(cleaned) == cleaned


@given(STRINGS)
def test_text_is_clean_afterwards(text: str):
    cleaned = clean(text)
    assert neutralise(sanitise(cleaned).text).removed == sanitise(cleaned).removed == 0


@pytest.mark.parametrize("text", BENIGN)
def test_harmless_text_stays_as_it_is(text: str):
    assert clean(text) == text
    assert clean(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)
