"""The texts of an answer's content, wherever they stand in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom_proxy.contents import Text, replaced, texts

THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm. [S9]"}]}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("a", [Text("a", ())]),
        ("", []),
        (None, []),
        (5, []),
        ({"text": "a"}, []),
        ([], []),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": ""}, "b"], [Text("a", (0, "text")), Text("b", (2,))]),
        ([THINKING, {"type": "text", "text": "a"}, {"text": 5}, None, 5], [Text("a", (1, "text"))]),
    ],
)
def test_where_they_stand(content: Any, found: list[Text]):
    assert texts(content) == found


@pytest.mark.parametrize("content", ["one", [THINKING, {"type": "text", "text": "one"}, "two", {"text": "three"}]])
def test_another_text_takes_the_place_of_each_and_the_rest_stays(content: Any):
    data = json.dumps({"a": [{"content": content, "more": 1}]}, indent=1).encode()
    said = texts(content)
    assert replaced(data, said, [one.text for one in said], "a", 0) is data
    new = replaced(data, said, [one.text.upper() for one in said], "a", 0)
    assert [one.text for one in texts(json.loads(new)["a"][0]["content"])] == [one.text.upper() for one in said]
    for one in said:
        new = new.replace(one.text.upper().encode(), one.text.encode())
    assert new == data
