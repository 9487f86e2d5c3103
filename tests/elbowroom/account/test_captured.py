"""Captured texts: everything, or what redaction leaves, and never a document that may not be seen."""

from __future__ import annotations

import json

from elbowroom.account.captured import HIDDEN, captured

SECRET = "AKIAIOSFODNN7EXAMPLE"
PICTURE = "data:image/png;base64," + "A" * 300
BODY = {
    "model": "m",
    "messages": [
        {"role": "user", "content": f"key {SECRET}, again {SECRET}, mail ann@example.org\u200b"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "of another tenant"},
    ],
    "documents": [{"id": "a", "text": f"{SECRET} stands here, too"}, {"id": "b", "text": "of another tenant", "n": 1}],
}


def kept(**more):
    told = {"redacted": False, **more}
    return captured(json.dumps(BODY).encode(), {"x-elbowroom-class": "how_to"}, f"It is {SECRET}.", **told)


def test_everything_is_kept_as_it_came():
    told = kept()
    assert told == {
        "body": BODY,
        "headers": {"x-elbowroom-class": "how_to"},
        "answer": f"It is {SECRET}.",
        "redacted": False,
        "hidden": 0,
    }


def test_redaction_goes_through_all_strings_and_numbers_values():
    told = kept(redacted=True)
    mark = "[REDACTED:aws_key#1]"
    first, picture, _ = told["body"]["messages"]
    assert first["content"] == f"key {mark}, again {mark}, mail [REDACTED:mail#1]"
    assert picture["content"][0]["image_url"]["url"] == "[data, 322 characters]"
    assert told["body"]["documents"][0]["text"] == f"{mark} stands here, too"
    assert told["body"]["documents"][1]["n"] == 1
    assert told["answer"] == f"It is {mark}."
    assert told["redacted"]


def test_what_may_not_be_seen_is_not_kept():
    told = kept(hidden={1, 7}, hidden_in={2})
    assert "another tenant" not in json.dumps(told)
    assert told["body"]["documents"][1] == {"id": "hidden-1", "text": "", "access": {}}
    assert told["body"]["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": HIDDEN}
    assert told["hidden"] == 3


def test_a_body_without_documents_hides_none():
    told = captured(b'{"messages": []}', {}, "", hidden={0}, redacted=False)
    assert told["body"] == {"messages": []}
