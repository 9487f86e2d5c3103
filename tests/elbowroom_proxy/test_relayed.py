"""What is read of an answer that is handed on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.errors import Overloaded
from elbowroom_proxy import relayed
from elbowroom_proxy.relayed import Streamed, whole

USAGE = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


BEGUN = event("response.created", response={"status": "in_progress", "usage": None})
DELTA = event("response.output_text.delta", delta="one")
END = event("response.completed", response={"status": "completed", "usage": USAGE})
STREAM = BEGUN + DELTA + END


def test_a_whole_answer_says_what_it_took():
    answer = whole(json.dumps({"usage": USAGE, "status": "completed"}).encode())
    assert (answer.usage, answer.finish_reason) == (USAGE, "completed")
    assert (answer.citations, answer.calls_refused, answer.text) == ((), 0, "")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"usage":7,"status":1}'])
def test_what_says_nothing_is_an_answer_all_the_same(body: bytes):
    answer = whole(body)
    assert (answer.usage, answer.finish_reason) == (None, None)


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=8).map(sorted))
def test_bytes_go_through_as_they_are_however_they_were_cut(cuts: list[int]):
    came: list[bytes] = []
    stream = Streamed(came.append)
    parts = [STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]
    assert b"".join(map(stream.feed, parts)) + stream.finish() == STREAM
    assert (stream.usage, stream.finish_reason, stream.failed, stream.ended) == (USAGE, "completed", None, True)
    assert len(came) == 2


@pytest.mark.parametrize("kind", ["response.incomplete", "response.failed"])
def test_a_response_may_end_in_other_ways(kind: str):
    stream = Streamed()
    stream.feed(BEGUN + event(kind, response={"status": "over", "usage": USAGE}))
    assert (stream.finish(), stream.finish_reason, stream.usage) == (b"", "over", USAGE)


def test_one_that_was_cut_does_not_pass_for_a_whole_one():
    stream = Streamed()
    assert stream.feed(BEGUN + DELTA) == BEGUN + DELTA
    said = stream.finish()
    assert said.startswith(b"event: error\ndata: ")
    told = json.loads(said.split(b"data: ")[1])
    assert (told["type"], told["code"], stream.failed) == ("error", "upstream_unavailable", "upstream_unavailable")
    assert stream.feed(DELTA) == b""


def test_an_error_of_the_upstreams_is_the_end():
    stream = Streamed()
    error = event("error", code="server_error", message="no")
    assert stream.feed(BEGUN + error + DELTA) == BEGUN + error
    assert (stream.failed, stream.ended, stream.finish()) == ("upstream_error", True, b"")


def test_an_error_of_ours_follows_at_any_moment_but_not_after_the_end():
    stream = Streamed()
    stream.feed(BEGUN + DELTA[:10])
    assert b'"code":"overloaded"' in stream.fail(Overloaded("stopping"))
    assert stream.fail(Overloaded("stopping")) == b""
    complete = Streamed()
    complete.feed(STREAM)
    assert complete.fail(Overloaded("stopping")) == b""


def test_comments_pass_and_ids_do_not():
    stream = Streamed()
    assert stream.feed(b": ping\n\nid: 7\n" + DELTA) == b": ping\n\n" + DELTA
    assert stream.feed(b"data: no json\n\n") == b"data: no json\n\n"
    assert stream.feed(event("response.completed", response=None)) != b""
    assert stream.usage is None


def test_an_event_without_an_end_is_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(relayed, "EVENT_MAX", 10)
    stream = Streamed()
    assert b"without an end" in stream.feed(b"data: 1234567890")
