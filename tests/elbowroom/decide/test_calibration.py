"""Shapes of requests, and what bills teach about their margins."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.calibration import ENOUGH, corrected, shape
from elbowroom.records import Basis, Count, Learned

HELLO = {"role": "user", "content": "hello"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "plain/4k"),
        ({"tools": [{}]}, "tools/4k"),
        ({"functions": [{}]}, "tools/4k"),
        ({"response_format": {"type": "json_schema"}}, "schema/4k"),
        ({"response_format": {"type": "json_object"}}, "plain/4k"),
        ({"messages": [HELLO, {"role": "assistant", "tool_calls": [CALL]}]}, "calls/4k"),
        ({"messages": [{"role": "assistant", "function_call": {}}, {"role": "assistant", "tool_calls": [CALL] * 2}]},
         "calls+parallel/4k"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}, {"type": "image_url"}]}]}, "parts/4k"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "plain/4k"),
    ],
)  # fmt: skip
def test_a_shape_says_what_is_in_a_request(more, expected):
    assert shape({"messages": [HELLO], **more}, 100) == expected


@pytest.mark.parametrize(("size", "name"), [(4096, "4k"), (4097, "32k"), (262_144, "256k"), (262_145, "more")])
def test_and_how_large_it_is(size, name):
    assert shape({"messages": []}, size) == f"plain/{name}"


@given(st.lists(st.dictionaries(st.sampled_from(["content", "tool_calls", "function_call"]), st.lists(st.text()))))
def test_no_text_is_in_it(messages: list[Any]):
    words = set(shape({"messages": messages}, 1).removesuffix("/4k").split("+"))
    assert words <= {"plain", "tools", "schema", "calls", "parallel", "parts"}


def test_nothing_learned_changes_nothing():
    assert corrected(Count(9, Basis.CALIBRATED, 5), None) == Count(9, Basis.CALIBRATED, 5)


@pytest.mark.parametrize(
    ("learned", "margin"),
    [
        (Learned(3, ENOUGH), 3),  # enough bills say that the counter is too careful
        (Learned(3, ENOUGH - 1), 5),
        (Learned(8, 1), 8),
        (Learned(3, ENOUGH, refused=40), 40),
    ],
)
def test_a_calibrated_count_takes_its_margin_from_bills(learned, margin):
    assert corrected(Count(9, Basis.CALIBRATED, 5), learned) == Count(9, Basis.CALIBRATED, margin)


@pytest.mark.parametrize("basis", [Basis.MODELLED, Basis.BOUNDED, Basis.EXACT])
def test_others_are_widened_only_where_an_upstream_refused(basis):
    assert corrected(Count(9, basis, 5), Learned(99, ENOUGH)) == Count(9, basis, 5)
    assert corrected(Count(9, basis, 5), Learned(0, 0, refused=7)).margin == 7
