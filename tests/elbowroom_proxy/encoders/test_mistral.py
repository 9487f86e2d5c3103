"""Mistral's vocabularies, as mistral-common itself encodes with them."""

from __future__ import annotations

import importlib.util

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.errors import CountUnavailable
from elbowroom_proxy import encoders
from elbowroom_proxy.encoders import mistral

TEKKEN = encoders.load("mistral:tekken_240911")
TEXTS = {
    "": 0,
    "What's the weather in Paris?": 7,
    "How do I cross the street?": 7,
    "[INST]</s><s>": 6,
    "\ud800": 1,
}


@pytest.mark.parametrize("text", TEXTS)
def test_counts_are_the_recorded_ones(text):
    assert TEKKEN.tokens(text) >= TEXTS[text]
    if text.isascii() and text.endswith("?"):
        assert TEKKEN.tokens(text) == TEXTS[text]


@given(st.text(), st.text(st.characters(exclude_characters="/")).filter(lambda text: text[:1].strip()))
@settings(max_examples=200)
def test_they_add_up_over_the_end_of_a_line(one, two):
    assert TEKKEN.tokens(one + "\n" + two) == TEKKEN.tokens(one + "\n") + TEKKEN.tokens(two)


@given(st.text(min_size=1))
def test_a_token_is_a_byte_at_least(text):
    assert 0 < TEKKEN.tokens(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("which", ["", "tekken_1", "../tekken_240911", "tokenizer.model.v1"])
def test_what_the_wheel_has_not_is_unknown(which):
    with pytest.raises(CountUnavailable):
        mistral.build(which, None)


def test_without_the_package_it_is_unknown(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CountUnavailable, match="unknown"):
        mistral.build("tekken_240911", None)
