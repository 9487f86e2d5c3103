"""Documents are taken out of messages, and everything else in these stays as it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elbowroom.errors import InvalidDocument
from elbowroom.read.embedded import Lifted, lift
from elbowroom.read.policy import Policy, Tool
from elbowroom.read.split import tool_names
from elbowroom.records import Document, Edit, Request
from tests.walk import read

SEARCH = Policy(tools={"search": Tool(returns="documents")})
COHERE = {"type": "document", "document": {"id": "c1", "data": {"text": "Paris.", "title": "Geo"}}}
CLAUDE = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "Lyon."},
    "title": "Cities",
}
RESULT = {
    "type": "search_result",
    "source": "https://kb.example/3",
    "title": "Nice",
    "content": [{"type": "text", "text": "Nice."}],
}
ASKED = {"type": "text", "text": "Which?"}


def talk(content: Any = "Which?", *results: Any, tool: str = "search", **more: Any) -> Request:
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        for at in range(len(results))
    ]
    answers = [
        {"role": "tool", "tool_call_id": call["id"], "content": text} for call, text in zip(calls, results, strict=True)
    ]
    called = [{"role": "assistant", "content": None, "tool_calls": calls}] if calls else []
    return read({"model": "m", "messages": [{"role": "user", "content": content}, *called, *answers], **more})


def lifted(request: Request, policy: Policy = SEARCH) -> Lifted:
    return lift(request, tool_names(request), policy)


def told(one: Lifted) -> list[tuple[str, str | None, int | None]]:
    return [(document.id, document.text, document.message) for document in one.request.documents]


def test_without_documents_the_request_is_itself():
    for request in (talk(), talk([ASKED]), talk("Which?", '[{"text": "Paris."}]', tool="other")):
        assert lifted(request) == Lifted(request)


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_documents_belong_to_those_who_ask_and_to_tools(role: str):
    message = {"role": role, "content": [{"type": "text", "text": "Be brief."}, COHERE]}
    request = read({"model": "m", "messages": [message, {"role": "user", "content": "Which?"}]})
    with pytest.raises(InvalidDocument, match=f"of the role {role}") as caught:
        lifted(request)
    assert caught.value.param == "messages[0].content[1]"
    assert lifted(request, Policy(documents="upstream")) == Lifted(request)
    older = {"role": "function", "name": "f", "content": [COHERE]}
    (document,) = lifted(read({"model": "m", "messages": [older]})).request.documents
    assert (document.text, document.message) == ("Paris.", 0)


def test_a_file_that_has_a_label_is_refused():
    file = {"type": "document", "source": {"type": "base64", "data": "AA=="}}
    assert lifted(talk([ASKED, file])).homes == {}
    with pytest.raises(InvalidDocument, match="no text that could be held back"):
        lifted(talk([ASKED, {**file, "access": {"tenant": "acme"}}]))
    with pytest.raises(InvalidDocument, match="no text that could be held back"):
        lifted(talk([ASKED, {**file, "metadata": {"access": {"tenant": "acme"}}}]))


def test_document_parts_leave_their_message():
    found = lifted(talk([ASKED, COHERE, {"type": "text", "text": "And?"}, CLAUDE, RESULT]))
    assert told(found) == [("c1", "Paris.", 0), ("d1", "Lyon.", 0), ("d2", "Nice.", 0)]
    assert [document.title for document in found.request.documents] == ["Geo", "Cities", "Nice"]
    assert found.request.documents[2].url == "https://kb.example/3"
    assert found.request.messages[0].value["content"] == [ASKED, {"type": "text", "text": "And?"}]
    assert json.loads(found.request.messages[0].raw) == found.request.messages[0].value
    assert found.homes == {0: 1}
    assert (found.request.tagged, found.edits) == (True, (Edit.TAGS_REMOVED,))


def test_a_message_of_nothing_but_documents_has_an_empty_text():
    found = lifted(talk([COHERE], [CLAUDE, RESULT], tool="other"))
    assert [message.value["content"] for message in found.request.messages] == ["", None, ""]
    assert found.homes == {0: 0, 2: 0}
    assert [document.message for document in found.request.documents] == [0, 2, 2]


def test_what_was_tagged_comes_first():
    found = lifted(talk([COHERE, ASKED], documents=[{"id": "t", "text": "Tagged."}]))
    assert told(found) == [("t", "Tagged.", None), ("c1", "Paris.", 0)]
    assert [document.position for document in found.request.documents] == [0, 1]


@pytest.mark.parametrize(
    ("part", "document"),
    [
        ({"type": "document", "document": "Paris."}, Document(0, "d0", "Paris.")),
        ({"type": "document", "document": {"id": "a", "text": "P.", "score": 0.5}}, Document(0, "a", "P.", score=0.5)),
        ({"type": "document", "document": {"data": '{"text": "Paris."}'}}, Document(0, "d0", "Paris.")),
        ({"type": "document", "document": {"data": "Paris."}}, Document(0, "d0", "Paris.")),
        ({"type": "document", "document": {"data": "7"}}, Document(0, "d0", "7")),
        ({"type": "document", "text": "Paris.", "id": "a"}, Document(0, "a", "Paris.")),
        ({"type": "document", "source": {"type": "content", "content": "Paris."}}, Document(0, "d0", "Paris.")),
        ({"type": "document", "source": {"type": "content", "content": [ASKED]}}, Document(0, "d0", "Which?")),
        ({"type": "search_result", "content": [ASKED]}, Document(0, "d0", "Which?")),
    ],
)  # fmt: skip
def test_the_shapes_of_a_part(part: dict[str, Any], document: Document):
    (found,) = lifted(talk([ASKED, part])).request.documents
    assert (found.id, found.text, found.score) == (document.id, document.text, document.score)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}},
        {"type": "document", "source": {"type": "url", "url": "https://x.example/a.pdf"}},
        {"type": "document", "title": "Nothing"},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
    ],
)
def test_a_part_without_text_travels_as_it_came(part: dict[str, Any]):
    request = talk([ASKED, part])
    assert lifted(request) == Lifted(request)


def test_where_documents_are_the_providers_parts_are_left_to_it():
    policy = Policy(documents="upstream", tools=SEARCH.tools)
    request = talk([ASKED, COHERE])
    assert lifted(request, policy) == Lifted(request)
    assert told(lifted(talk([COHERE], '["Paris."]'), policy)) == [("d0", "Paris.", 2)]


@pytest.mark.parametrize("tool", [Tool(response_schema={}), Tool(redact=("mail",))])
def test_parts_of_a_result_that_is_looked_into_stay_there(tool: Tool):
    request = talk("Which?", [COHERE], tool="find")
    assert lifted(request, Policy(tools={"find": tool})) == Lifted(request)
    assert told(lifted(request, Policy(tools={"find": Tool()}))) == [("c1", "Paris.", 2)]


def test_a_part_that_cannot_be_read_is_named_by_its_place():
    with pytest.raises(InvalidDocument, match=r"messages\[0\]\.content\[1\]\.title must be") as caught:
        lifted(talk([ASKED, {"type": "document", "document": {"text": "Paris.", "title": []}}]))
    assert caught.value.param == "messages[0].content[1].title"
    with pytest.raises(InvalidDocument, match=r"messages\[0\]\.content\[0\] has no text"):
        lifted(talk([{"type": "document", "document": {"id": "a"}}]))


def test_the_parts_that_coheres_library_makes():
    file = Path(__file__).parents[2] / "fixtures" / "libraries" / "cohere.json"
    parts = json.loads(file.read_text("utf-8"))["tool_content"]
    for request in (talk([ASKED, *parts]), talk("Which?", parts, tool="other"), talk("Which?", parts)):
        documents = lifted(request).request.documents
        assert [(one.id, one.title) for one in documents] == [("kb-7#0", "Refund policy"), ("kb-7#1", "退款政策")]


# --- results of named tools -------------------------------------------------------------------------------------------


def test_a_named_tools_result_is_documents_and_its_message_keeps_its_call():
    rows = [{"id": "a", "text": "Paris."}, {"text": "Lyon."}]
    found = lifted(talk("Which?", json.dumps(rows), "Opaque.\n\nText."))
    assert told(found) == [("a", "Paris.", 2), ("d1", "Lyon.", 2), ("d2", "Opaque.\n\nText.", 3)]
    assert [message.value.get("content") for message in found.request.messages] == ["Which?", None, "", ""]
    assert [message.value.get("tool_call_id") for message in found.request.messages] == [None, None, "c0", "c1"]
    assert (found.homes, found.edits) == ({2: 0, 3: 0}, (Edit.TOOL_RESULT_PACKED,))


def test_a_result_in_parts():
    picture = {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}
    found = lifted(talk("Which?", [{"type": "text", "text": '{"text": "Paris."}'}, picture, COHERE]))
    assert told(found) == [("c1", "Paris.", 2), ("d1", "Paris.", 2)]
    assert found.request.messages[2].value["content"] == [picture]
    assert found.homes == {2: 1}
    only = lifted(talk("Which?", [picture]))
    assert (told(only), only.request.messages[2].value["content"], only.homes) == ([], [picture], {2: 0})


def test_a_result_without_content():
    request = talk("Which?", None)
    found = lifted(request)
    assert (told(found), found.request.messages[2].value["content"]) == ([], "")


def test_two_that_share_an_id_and_not_a_text_are_told_apart():
    one, two = '[{"id": "a", "text": "One."}]', '[{"id": "a", "text": "Two."}, {"id": "a", "text": "One."}]'
    found = lifted(talk("Which?", one, two))
    assert told(found) == [("a", "One.", 2), ("a'", "Two.", 3), ("a", "One.", 3)]
    three = json.dumps([{"id": name, "text": text} for name, text in [("a", "3."), ("a'2", "x"), ("a", "4.")]])
    found = lifted(talk("Which?", one, two, three, one, three))
    assert [name for name, _, _ in told(found)] == ["a", "a'", "a", "a'2", "a'2'", "a'3", "a", "a'2", "a'2'", "a'3"]


def test_many_that_share_an_id_are_told_apart_one_after_the_other():
    """Each was once tried by the names of all before it: six seconds for a request of four thousand."""
    searches = [json.dumps([{"id": "a", "text": f"{at} {row}"} for row in range(1_000)]) for at in range(4)]
    names = [name for name, _, _ in told(lifted(talk("Which?", *searches)))]
    assert len(set(names)) == 4_000
    assert max(map(len, names)) == len("a'3999")


def test_more_parts_than_a_request_may_have_documents_are_an_error():
    policy = Policy(tools=SEARCH.tools, max_documents=3)
    parts, more = [COHERE, CLAUDE], [{"id": "t", "text": "Metz."}]
    assert len(told(lifted(talk(parts, json.dumps(["a", "b"]), documents=more), policy))) == 5
    with pytest.raises(InvalidDocument) as error:
        lifted(talk(parts, [RESULT], tool="other", documents=more), policy)
    assert (error.value.param, "3 documents at most" in error.value.message) == ("messages[2].content", True)


def test_more_documents_than_a_request_may_have_are_said_and_left():
    policy = Policy(tools=SEARCH.tools, max_documents=2)
    found = lifted(talk("Which?", json.dumps(["a", "b", "c"])), policy)
    assert [text for _, text, _ in told(found)] == ["a", "b"]
    assert found.notes == ("of 3 documents that a tool returned the first 2 are looked at",)


MINE, ITS = {"tenant": "mine"}, {"tenant": "its"}


@pytest.mark.parametrize(
    ("part", "access"),
    [
        ({"type": "search_result", "title": "t", "content": [{"type": "text", "text": "x"}], "access": MINE}, MINE),
        ({"type": "document", "source": {"type": "text", "data": "x"}, "access": MINE}, MINE),
        ({"type": "document", "document": "x", "access": MINE}, MINE),
        ({"type": "document", "document": {"text": "x", "access": ITS}, "access": MINE}, ITS),
        ({"type": "document", "document": {"text": "x"}, "access": MINE}, MINE),
        ({"type": "document", "document": {"data": {"text": "x", "access": ITS}}}, ITS),
        ({"type": "document", "document": {"data": {"text": "x", "access": ITS}, "access": MINE}}, MINE),
        ({"type": "document", "document": "x", "metadata": {"access": MINE}}, MINE),
        ({"type": "document", "source": {"type": "text", "data": "x"}, "metadata": {"access": MINE}}, MINE),
        ({"type": "document", "source": {"type": "text", "data": "x", "access": ITS}}, ITS),
        ({"type": "document", "source": {"type": "text", "data": "x", "access": ITS}, "access": MINE}, MINE),
        ({"type": "document", "document": {"text": "x", "metadata": {"a": 1}}, "metadata": {"access": MINE}}, MINE),
        ({"type": "document", "document": "x", "metadata": "access"}, None),
        # A text that happens to be JSON is a text all the same.
        ({"type": "document", "document": {"data": json.dumps({"text": "x", "access": ITS})}}, None),
        ({"type": "document", "document": {"data": json.dumps({"text": "x", "metadata": {"access": ITS}})}}, None),
        ({"type": "document", "document": {"data": json.dumps({"node": {"text": "x", "access": ITS}})}}, None),
        (
            {
                "type": "document",
                "document": {"data": json.dumps({"node": {"text": "x", "metadata": {"access": ITS}}})},
            },
            None,
        ),
        ({"type": "document", "document": {"data": json.dumps({"text": "x", "access": ITS}), "access": MINE}}, MINE),
    ],
)
def test_whose_label_a_part_has(part: dict[str, Any], access: dict[str, Any] | None):
    [document] = lifted(read({"model": "m", "messages": [{"role": "user", "content": [part]}]})).request.documents
    assert (document.text, document.access) == ("x", access)
