"""A whole answer is the upstream's bytes, and exactly what was added."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from openai.types.chat import ChatCompletion

from elbowroom.records import Source
from elbowroom.write.answer import Watch
from elbowroom.write.citations import Invented
from elbowroom_proxy.whole import Whole, whole, with_report

USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
REPORT = b'{"admitted":["kb-1"]}'
SOURCES = (
    Source("S1", "kb-1", "Refunds", "https://kb.example/1", "kb"),
    Source("S3", "kb-3", "No address", None, None),
)
OWN = {"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 1}}


def completion(*contents: Any, finish: str | None = "stop", **message: Any) -> dict:
    choices = [
        {"index": at, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
        for at, content in enumerate(contents)
    ]
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1760000000, "model": "gpt-4o"}
    return {**head, "choices": choices, "usage": USAGE}


def read(body: bytes, report: bytes | None = None, verify: bool = True, invented: Invented = "flag") -> Whole:
    said = whole(body, Watch(SOURCES, invented, hosts_allowed=()) if verify else Watch())
    return said if report is None else structs.replace(said, body=with_report(said, report))


FORMATS = st.sampled_from([{"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}])
TEXTS = st.lists(st.sampled_from(["a", "日本", "[S3]", "[S9]", "[S", '"}],', "\ud83d"])).map("".join)


@given(TEXTS, FORMATS)
def test_nothing_to_add_is_the_same_object(text: str, how: dict):
    body = json.dumps(completion(text), **how).encode(errors="surrogatepass")
    answer = read(body)
    assert (answer.body is body) == (not answer.invented)
    if "\ud83d" not in text or "ensure_ascii" not in how:  # a bare surrogate is no UTF-8: not a completion at all
        assert (answer.usage, answer.finish_reasons, answer.text_chars) == (USAGE, ("stop",), len(text))
        assert answer.invented == (("S9",) if "[S9]" in text else ())


@pytest.mark.parametrize("verify", [False, True])
def test_a_report_is_one_member_more(verify: bool):
    body = json.dumps(completion("a"), indent=1).encode()
    added = b',"context_report":' + REPORT
    answer = read(body, REPORT, verify)
    assert answer.body == body[: -len("\n}")] + added + b"\n}"
    assert ChatCompletion.model_validate_json(answer.body).model_extra == {"context_report": json.loads(REPORT)}


@pytest.mark.parametrize("before", [{}, {"annotations": []}, {"annotations": None}, {"annotations": [OWN]}])
@pytest.mark.parametrize("how", [{"separators": (",", ":")}, {"indent": 2}])
def test_citations_become_annotations_and_the_rest_stays(before: dict, how: dict):
    told = completion("日本 [S1], [S9] and [S3]", "none", "[S1]", **before)
    answer = read(json.dumps(told, **how).encode())
    new = json.loads(answer.body)
    notes = [choice["message"].pop("annotations", None) for choice in new["choices"]]
    for choice in told["choices"]:
        choice["message"].pop("annotations", None)
    flagged = new["choices"][0]["message"].pop("elbowroom_flags")
    assert flagged == {"invented_citations": [{"label": "S9", "start_index": 9, "end_index": 13}]}
    assert new == told
    theirs = before.get("annotations") or []
    assert notes[0][: len(theirs)] == notes[2][: len(theirs)] == theirs
    assert notes[1] == before.get("annotations")
    [first], [last] = notes[0][len(theirs) :], notes[2][len(theirs) :]
    assert (first["url_citation"]["start_index"], first["url_citation"]["end_index"]) == (3, 7)
    assert (last["url_citation"]["url"], last["url_citation"]["title"]) == ("https://kb.example/1", "Refunds")
    assert [citation.label for citation in answer.citations] == ["S1", "S9", "S3", "S1"]
    assert answer.invented == ("S9",)
    annotations = ChatCompletion.model_validate_json(answer.body).choices[0].message.annotations
    assert annotations is not None
    assert len(annotations) == len(theirs) + 1


def test_an_invented_marker_is_stripped_or_refused():
    body = json.dumps(completion("a [S9] b [S1]", None), indent=1).encode()
    answer = read(body, invented="strip")
    message = json.loads(answer.body)["choices"][0]["message"]
    assert message["content"] == "a  b [S1]"
    assert message["annotations"][0]["url_citation"]["start_index"] == 5
    assert "elbowroom_flags" not in message
    assert (answer.invented, answer.text_chars, answer.refused) == (("S9",), 9, False)
    refused = read(body, invented="error")
    assert refused.refused
    assert refused.invented == ("S9",)
    assert not read(json.dumps(completion("[S1]")).encode(), invented="error").refused


def test_text_in_parts_is_read_like_any_other():
    """As Mistral's reasoning models answer. Places are those in the parts' texts joined."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "[S9] https://thought.example"}]}
    said = [thinking, {"type": "text", "text": "Yes [S1"}, {"type": "text", "text": "] ![](https://evil.example/x)"}]
    answer = read(json.dumps(completion(said, "no [S9]")).encode(), invented="strip")
    assert [one.label for one in answer.citations] == ["S1"]
    assert (answer.invented, [link.host for link in answer.foreign_links]) == (("S9",), ["evil.example"])
    assert answer.text == "Yes [S1] ![](https://evil.example/x)\nno "
    assert answer.text_chars == len(answer.text) - 1
    first, second = (choice["message"] for choice in json.loads(answer.body)["choices"])
    assert first["content"][0] == thinking
    assert "".join(part["text"] for part in first["content"][1:]) == "Yes [S1] ![](https://evil.example/x)"
    (note,) = first["annotations"]
    assert (note["url_citation"]["start_index"], note["url_citation"]["end_index"]) == (4, 8)
    assert first["elbowroom_flags"]["links"][0]["host"] == "evil.example"
    assert second["content"] == "no "
    assert read(json.dumps(completion([thinking])).encode()).citations == ()


def test_half_a_character_in_what_is_added_does_no_harm():
    sources = (Source("S1", "kb-1", "half \ud83d", "https://kb.example/1", "kb"),)
    body = json.dumps(completion("[S1] https://evil\udc00.example/x", annotations=[OWN])).encode()
    message = json.loads(whole(body, Watch(sources, hosts_allowed=())).body)["choices"][0]["message"]
    assert message["annotations"][1]["url_citation"]["title"] == "half \ud83d"
    assert [link["host"] for link in message["elbowroom_flags"]["links"]] == ["evil\udc00.example"]


def test_links_to_strangers_are_named():
    answer = read(json.dumps(completion("[x](https://kb.example/9) <img src=//evil.example/p>")).encode())
    links = json.loads(answer.body)["choices"][0]["message"]["elbowroom_flags"]["links"]
    assert links == [{"kind": "image", "host": "evil.example", "start_index": 35, "end_index": 51}]
    assert [link.host for link in answer.foreign_links] == ["evil.example"]
    assert whole(answer.body, Watch(SOURCES)).foreign_links == ()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"error":{"message":"no"}}', b'{"choices":null}', b'{"choices":[5]}', b'{"choices":{}}'],
)
def test_what_is_no_completion_passes(body: bytes):
    assert read(body, REPORT) == Whole(body)
    assert read(body).finish_reason is None


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ({"message": None, "finish_reason": None}, None),
        ({"finish_reason": "stop"}, "stop"),
        ({"message": {"content": None, "tool_calls": []}, "finish_reason": "tool_calls"}, "tool_calls"),
        ({"message": {"content": [{"type": "thinking", "thinking": "[S1]"}]}, "finish_reason": "length"}, "length"),
    ],
)
def test_answers_without_text(choice: dict, finish: str | None):
    body = json.dumps({"choices": [choice], "usage": 5}).encode()
    assert read(body) == Whole(body, None, (finish,))
    assert read(body).finish_reason == finish


def test_what_it_says_and_calls_is_known():
    calls = [{"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("f", "g", "f")]
    body = completion("one", "two", tool_calls=calls, function_call={"name": "old", "arguments": "{}"})
    said = read(json.dumps(body).encode(), verify=False)
    assert (said.text, said.calls) == ("one\ntwo", ("f", "g", "old"))
    silent = read(json.dumps({**body, "choices": [{"index": 0, "message": None}]}).encode(), verify=False)
    assert (silent.text, silent.calls) == ("", ())
