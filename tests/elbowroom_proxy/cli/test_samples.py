"""The sample requests are what the demo promises, and their data holds together."""

from __future__ import annotations

import json
import re

from elbowroom_proxy.cli.samples import FOLDER, samples


def named(part):
    return next(sample for sample in samples() if part in sample.name)


def test_there_are_enough_and_no_two_are_alike():
    names = [sample.name for sample in samples()]
    assert len(names) == len(set(names)) >= 9
    assert sum(bool(re.search(r"[\u4e00-\u9fff]", name)) for name in names) >= 3


def test_a_request_holds_nothing_but_what_a_client_sends():
    known = {"model", "messages", "documents", "stream", "stream_options", "tools"}
    assert {name for sample in samples() for name in sample.body} <= known
    assert all(sample.body["messages"][-1]["role"] in ("user", "tool") for sample in samples())


def test_pages_become_documents_with_their_scores():
    first = samples()[0].body["documents"]
    assert [(one["id"], one["score"]) for one in first][:2] == [("warranty-intranet", 0.93), ("warranty", 0.92)]
    assert all(one["text"] and one["title"] and one["url"] for one in first)


def test_some_are_streamed_and_some_carry_no_documents():
    bodies = [sample.body for sample in samples()]
    assert {bool(body.get("stream")) for body in bodies} == {True, False}
    assert {"documents" in body for body in bodies} == {True, False}


def test_a_long_conversation_alternates_and_ends_in_a_short_question():
    messages = named("long conversation").body["messages"]
    roles = [one["role"] for one in messages]
    assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]
    assert len(messages) > 30
    assert len(messages[-1]["content"].split()) < 10


def test_a_tool_result_has_its_rows_and_answers_its_call():
    *_, call, result = named("5,000 rows").body["messages"]
    assert call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(json.loads(result["content"])) == 5000


def test_a_long_passage_is_made_of_pages():
    whole, *_ = named("too long").body["documents"]
    assert whole["id"] == "handbook-complete"
    assert "pages" not in whole
    assert len(whole["text"]) > 8000


def test_the_files_are_where_the_wheel_takes_them_from():
    assert FOLDER.parent.name == "elbowroom_proxy"
    assert sorted(path.name for path in FOLDER.iterdir()) == ["handbook.yaml", "requests.yaml", "twelve.yaml"]
