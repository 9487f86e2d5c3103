"""Messages taken apart and put together without touching what is not edited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.message import encode, join_members, with_text
from elbowroom.read.rawjson import members
from elbowroom.records import Message

TEXTS = st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def message(value: dict[str, Any]) -> Message:
    return Message(json.dumps(value, indent=1).encode(), value)


@given(value=st.dictionaries(TEXTS, VALUES, max_size=3), indent=st.sampled_from([None, 1]))
def test_an_object_is_put_together_from_the_bytes_that_came(value: dict[str, Any], indent: int | None):
    raw = json.dumps(value, indent=indent)
    found = members(f" {raw}\n".encode())
    assert {name: json.loads(member) for name, member in found.items()} == value
    assert all(member in raw.encode() for member in found.values())
    assert json.loads(join_members(found)) == value


@given(st.text())
def test_any_text_can_be_encoded(text: str):
    assert json.loads(encode(text)) == text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("old", "new"),
        (None, "new"),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}],
         [{"type": "text", "text": "new"}, {"type": "image_url", "image_url": {}}]),
    ],
)  # fmt: skip
def test_a_new_text_keeps_the_form_of_the_content(content: Any, expected: Any):
    old = message({"role": "tool", "tool_call_id": "c1", "content": content, "odd": [1.50]})
    new = with_text(old, "new")
    assert new.value == {**old.value, "content": expected}
    assert json.loads(new.raw) == new.value
    assert b'"odd":[\n  1.5\n ]' in new.raw
    alone = with_text(old, "new", alone=True).value["content"]
    assert alone == ([{"type": "text", "text": "new"}] if isinstance(content, list) else "new")
