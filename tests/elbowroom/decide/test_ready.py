"""What is done to a request before anything is counted, in every mode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.decide.access import Rights
from elbowroom.decide.ready import Ready, ready
from elbowroom.errors import InvalidRequest
from elbowroom.read.policy import Access, Policy, QueryClass, Tool, ToolAccess
from elbowroom.records import Edit, Mode, Principal, Request
from tests.walk import read

FIND, DROP = ({"type": "function", "function": {"name": name}} for name in ("find", "drop"))
CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def talk(result: str | list[dict[str, Any]] = "fine", **more: Any) -> Request:
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]
    return read({"model": "m", "messages": messages, "tools": [FIND, DROP], **more})


def made(request: Request, policy: Policy | None = None, **principal: Any) -> Ready:
    policy = policy or Policy()
    return ready(request, policy, Rights(Principal(**principal), policy.access), Known(1 << 20))


def test_where_nothing_is_said_nothing_is_done():
    request = talk()
    found = made(request)
    assert (found.request, found.came, found.names, found.tools, found.edits) == (
        request,
        request,
        {2: "find"},
        None,
        (),
    )


@pytest.mark.parametrize("mode", list(Mode))
def test_tools_go_by_policy_key_and_the_class_that_the_client_names(mode: Mode):
    classes = (
        QueryClass("general", cues={"en": ("Which",)}, tools_allow=()),
        QueryClass("narrow", tools_allow=("find",)),
    )
    policy = Policy(mode=mode, classes=classes)
    assert made(talk(), policy).tools_removed == ()
    narrow = made(talk(context={"class": "narrow"}), policy)
    assert narrow.tools_removed == ("drop",)
    assert narrow.tools_removed_by == {"drop": ("class",)}
    assert made(talk(), structs.replace(policy, tools_allow=("drop",))).tools == frozenset({"drop"})
    assert made(talk(), policy, tools=("find",)).tools == frozenset({"find"})
    found = made(talk(tool_choice="auto"), policy, tools=())
    assert (found.tools, found.edits) == (frozenset(), (Edit.TOOLS_REMOVED,))
    assert "tools" not in found.request.params
    assert list(found.came.fields) == ["model", "messages"]
    assert found.came.messages == talk().messages


def test_a_demand_for_a_removed_tool_is_refused():
    with pytest.raises(InvalidRequest, match="drop"):
        made(talk(tool_choice=DROP), tools=("find",))


def test_answers_are_watched_where_tools_are_named_or_documents_sent():
    assert made(talk()).tools is None
    assert made(talk(documents=[])).tools == frozenset({"find", "drop"})
    assert made(talk(), Policy(tools={"other": Tool()})).tools == frozenset({"find", "drop"})


def test_results_are_edited_in_the_request_that_goes_on_alone():
    policy = Policy(tools={"find": Tool(redact=("mail",))})
    request = talk(json.dumps({"mail": "a@x", "note": "[INST]"}))
    found = made(request, policy)
    assert json.loads(found.request.messages[2].text) == {"note": "[\\INST]"}
    assert found.came.messages == request.messages
    assert found.results_changed
    assert found.edits == (Edit.TOOL_RESULT_CLEANED, Edit.REDACTED)
    withheld = made(request, Policy(tools={"find": Tool(response_schema={"type": "array"})}))
    assert withheld.edits == (Edit.TOOL_RESULT_WITHHELD,)


def test_documents_of_named_tools_are_no_results():
    found = made(talk('["Paris. [S1]"]'), Policy(tools={"find": Tool(returns="documents")}))
    assert (found.results, found.homes, found.edits) == ({}, {2: 0}, (Edit.TOOL_RESULT_PACKED,))
    assert found.request.documents[0].text == "Paris. [S1]"


def test_text_beside_documents_is_a_result():
    part = {"type": "document", "document": {"text": "Paris."}}
    said = {"type": "text", "text": "Found <|im_start|>"}
    found = made(talk([part, said]))
    assert (set(found.results), found.homes) == ({2}, {2: 1})
    assert found.request.messages[2].text == "Found <\\|im_start|>"
    assert found.request.documents[0].text == "Paris."
    assert made(talk([part])).results == {}


def test_documents_are_not_taken_out_of_a_result_that_is_looked_into_itself():
    part = {"type": "document", "document": {"text": "secret", "access": {}}}
    found = made(talk([part, {"type": "text", "text": "{}"}]), Policy(tools={"find": Tool(redact=("mail",))}))
    assert (found.homes, found.request.documents, found.edits) == ({}, (), (Edit.TOOL_RESULT_WITHHELD,))
    assert b"secret" not in found.request.messages[2].raw


LABEL: dict[str, Any] = {
    "tenant": "acme",
    "label": "internal",
    "deny_groups": [],
    "visibility": "tenant",
    "expires_at": None,
}
ANN = {"tenant": "acme", "clearance": "internal", "keyed": True}


def labelled(**change: Any) -> dict[str, Any]:
    return {"text": "Paris.", "access": {**LABEL, **change}}


@pytest.mark.parametrize("mode", list(Mode))
def test_what_may_not_be_seen_goes_before_anything_is_looked_at(mode: Mode):
    request = talk(documents=[labelled(tenant="other"), labelled(), labelled(label="restricted"), {"text": "Bonn."}])
    found = made(request, Policy(mode=mode), **ANN)
    assert [one.position for one in found.request.documents] == [1]
    assert [one.document.position for one in found.denied] == [0, 2, 3]
    assert (found.labels, found.dated, found.request.tagged) == (frozenset({"internal"}), False, True)
    assert made(talk(documents=[labelled(expires_at="2030-01-01")]), Policy(mode=mode), **ANN).dated


def test_what_a_tool_returned_is_held_against_what_the_policy_says_of_it():
    policy = Policy(tools={"find": Tool(returns="documents", access=ToolAccess("internal"))})
    found = made(talk(json.dumps([{"text": "Paris."}, labelled(label="restricted")])), policy, **ANN)
    assert [one.text for one in found.request.documents] == ["Paris."]
    assert len(found.denied) == 1
    assert made(talk('["Paris."]'), policy, tenant="acme", clearance="public").request.documents == ()
    assert made(talk('["Paris."]'), Policy(tools={"find": Tool(returns="documents")}), **ANN).request.documents == ()


def test_labels_take_away_tools_that_carry_things_outside_and_no_other():
    policy = Policy(tools={"drop": Tool(egress=True), "find": Tool()})
    for documents, removed in (([labelled(label="public")], ()), ([labelled()], ("drop",))):
        assert made(talk(documents=documents), policy, **ANN).tools_removed == removed
    wider = structs.replace(policy, access=Access(egress_up_to="internal"))
    assert made(talk(documents=[labelled()]), wider, **ANN).tools_removed == ()
    assert made(talk(documents=[labelled()]), policy).tools_removed == ()
    assert made(talk(documents=[labelled(tenant="other")]), policy, **ANN).tools_removed == ()
    with pytest.raises(InvalidRequest, match="drop"):
        made(talk(documents=[labelled()], tool_choice=DROP), policy, **ANN)
    older = talk(documents=[labelled()], functions=[{"name": "drop"}, {"name": "other"}])
    assert made(older, policy, **ANN).request.params["functions"] == [{"name": "other"}]


def test_a_providers_own_tool_is_known_by_its_type_and_its_name():
    policy = Policy(tools={"bash": Tool(egress=True), "web_search": Tool(egress=True)})
    tools = [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search", "name": "x"},
        {"type": "builtin_function", "function": {"name": "bash"}},
        {"type": "clock"},
    ]
    found = made(talk(documents=[labelled()], tools=tools), policy, **ANN)
    assert found.request.params["tools"] == [{"type": "clock"}]


def test_an_assumed_label_is_noted():
    policy = Policy(access=Access(on_missing_label={"default": "assume:internal"}))
    found = made(talk(documents=[{"text": "Paris."}]), policy, **ANN)
    assert found.notes == ("documents without a label: 1 taken for internal",)


SEEN: dict[str, Any] = {
    "tenant": "acme",
    "label": "restricted",
    "deny_groups": [],
    "visibility": "tenant",
    "expires_at": None,
}


@pytest.mark.parametrize(
    ("access", "clearance", "heard"),
    [
        (SEEN, "restricted", {"restricted", "public"}),
        (SEEN, "internal", {"restricted", "public"}),  # it was seen before, perhaps
        ({**SEEN, "label": "secret"}, "restricted", None),
        ({**SEEN, "kid": "k"}, "restricted", None),
        (None, "restricted", None),
    ],
)
def test_what_messages_brought_is_heard_of_under_its_label_even_where_it_may_not_be_seen_now(access, clearance, heard):
    document = {"type": "document", "document": {"id": "a", "text": "Pay.", "access": access}}
    messages = [{"role": "user", "content": [document]}, {"role": "user", "content": "Which?"}]
    tagged = [
        {"id": "b", "text": "Wait.", "access": {**SEEN, "label": "public"}},
        {"id": "c", "text": "Go.", "access": {**SEEN, "tenant": "globex"}},  # came now, and nobody was told of it
    ]
    request = read({"model": "m", "messages": messages, "documents": tagged})
    found = made(request, tenant="acme", clearance=clearance, keyed=True)
    assert found.labels_heard == heard
