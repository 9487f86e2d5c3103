"""A chat body taken apart, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.errors import CountUnavailable
from elbowroom_proxy.chatbody import Picture, ToolCall, calls, functions, named_choice, parts, text


def test_texts_and_pictures_come_in_order():
    assert parts({"content": "hello"}) == ["hello"]
    assert parts({"content": ""}) == parts({"content": None}) == []
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    content = [image, {"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]
    assert parts({"content": content}) == [Picture(image["image_url"]["url"], "low", "image/png", "AAAA"), "a", "b"]  # type: ignore[index]
    assert text({"content": content[1:]}) == "a\nb"
    with pytest.raises(CountUnavailable, match="pictures"):
        text({"content": content})


@pytest.mark.parametrize("part", [{"type": "input_audio"}, {"type": "image_url", "image_url": None}, "text", {}])
def test_what_is_neither_is_named(part):
    with pytest.raises(CountUnavailable, match="content part"):
        parts({"content": [part]})


def test_calls_have_arguments_whatever_they_look_like():
    made = [{"id": i, "function": {"name": "f", "arguments": a}} for i, a in enumerate(['{"a": 1}', "[1]", "{", None])]
    assert [call.parsed for call in calls({"tool_calls": made})] == [{"a": 1}, {}, {}, {}]
    assert calls({}) == []
    assert calls({"tool_calls": made[:1]}) == [ToolCall("0", "f", '{"a": 1}')]


def test_older_and_other_forms_are_refused():
    for wrong in ({"function_call": {"name": "f"}}, {"tool_calls": [{"type": "custom"}]}):
        with pytest.raises(CountUnavailable):
            calls(wrong)
    body: dict[str, Any]
    for body in ({"functions": [{}]}, {"tools": [{"type": "web_search"}]}):
        with pytest.raises(CountUnavailable):
            list(functions(body))


def test_a_choice_may_name_a_function():
    assert named_choice({"tool_choice": {"type": "function", "function": {"name": "f"}}}) == "f"
    assert named_choice({"tool_choice": {"type": "function", "function": {}}}) is None
    assert named_choice({"tool_choice": "auto"}) is None
