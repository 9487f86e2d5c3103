"""What is done to a request before anything is counted, in every mode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.decide.ready import Ready, ready
from elbowroom.errors import InvalidRequest
from elbowroom.read.policy import Policy, QueryClass, Tool
from elbowroom.records import Edit, Mode, Principal, Request
from tests.walk import read

FIND, DROP = ({"type": "function", "function": {"name": name}} for name in ("find", "drop"))
CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def talk(result: str = "fine", **more: Any) -> Request:
    messages = [
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]
    return read({"model": "m", "messages": messages, "tools": [FIND, DROP], **more})


def made(request: Request, policy: Policy | None = None, **principal: Any) -> Ready:
    return ready(request, policy or Policy(), Principal(**principal), Known(1 << 20))


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
    assert made(talk(context={"class": "narrow"}), policy).tools_removed == ("drop",)
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
