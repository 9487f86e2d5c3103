"""Which texts came of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elbowroom_proxy.delivered import CALL, CHOICE, Delivered


def chunk(delta: Any, index: int = 0) -> bytes:
    return json.dumps({"choices": [{"index": index, "delta": delta}]}).encode()


def whole(*messages: Any) -> bytes:
    return json.dumps({"choices": [{"index": i, "message": one} for i, one in enumerate(messages)]}).encode()


def test_the_pieces_of_each_choice_are_one_text():
    came = Delivered()
    for delta, index in (
        ({"role": "assistant"}, 0),
        ({"content": "a"}, 0),
        ({"content": "x"}, 1),
        ({"content": "b"}, 0),
    ):
        came.chat(chunk(delta, index))
    assert (came.texts, came.framing, came.opaque) == (("ab", "x"), 2 * CHOICE, False)


@pytest.mark.parametrize(
    ("said", "text", "calls"),
    [
        ({"content": "a", "refusal": "no"}, "ano", 0),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, 7]}, "a", 0),
        ({"reasoning_content": "hm", "content": None}, "hm", 0),
        ({"reasoning": "hm", "content": "a"}, "ahm", 0),
        ({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}, None]}, "f{}", 1),
        ({"tool_calls": [{"type": "custom", "custom": {"name": "c", "input": "i"}}, {}]}, "ci", 1),
        ({"tool_calls": "none"}, "", 0),
        ({"function_call": {"name": "f", "arguments": "1"}}, "f1", 1),
    ],
)
def test_everything_that_was_generated_counts(said: Any, text: str, calls: int):
    for came, data in ((Delivered(), chunk(said)), (Delivered(), whole(said))):
        came.chat(data)
        assert (came.texts, came.framing) == ((text,), CHOICE + calls * CALL)
        assert not came.opaque


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"choices":null}', b'{"choices":[{"delta":7}]}', b"nonsense"])
def test_what_is_no_chunk_is_passed_over_and_no_answer_hides_something(data: bytes):
    streamed, at_once = Delivered(), Delivered()
    streamed.chat(data)
    at_once.whole(data)
    assert (streamed.texts, streamed.opaque) == ((), False)
    assert at_once.opaque


def test_a_call_in_pieces_is_one_call():
    came = Delivered()
    for function in ({"name": "find", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ": 1}"}):
        came.chat(chunk({"tool_calls": [{"index": 0, "function": function}]}))
    assert (came.texts, came.framing) == (('find{"a": 1}',), CHOICE + CALL)


def test_sound_has_no_text():
    came = Delivered()
    came.whole(whole({"content": None, "audio": {"data": "AAAA"}}))
    assert came.opaque


def test_the_events_of_a_response_bring_their_pieces():
    came = Delivered()
    for event in (
        {"type": "response.created", "response": {}},
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        {"type": "response.audio.delta", "delta": {"x": 1}},
    ):
        came.response(json.dumps(event).encode())
    came.response(b"[DONE]")
    assert (came.texts, came.framing) == (("a{}",), CHOICE)
