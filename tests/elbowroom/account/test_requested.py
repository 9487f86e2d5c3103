"""What a record says of a request: instructions, tools and who took them away, and what followed from results."""

from __future__ import annotations

import json

from msgspec import structs

from elbowroom.account.requested import RemovedTool, ResultSince, instructions, results_since, tools
from elbowroom.decide.fates import keyed
from elbowroom.read.request import read_request
from tests.elbowroom.account.test_trace import DECISION

KEY = b"k" * 32


def function(name):
    return {"type": "function", "function": {"name": name, "parameters": {}}}


def call(ident, name, kind="function"):
    return {"id": ident, "type": kind, kind: {"name": name, "arguments": "{}"}}


def asked(*messages, **more):
    return read_request(json.dumps({"model": "m", "messages": messages, **more}).encode(), {}, max_documents=9)


def test_instructions_are_known_by_their_hashes():
    request = asked(
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi."},
        {"role": "developer", "content": [{"type": "text", "text": "Sprich Deutsch, 好"}]},
    )
    told = instructions(request, KEY)
    assert [(one.message, one.role, one.bytes) for one, _ in told] == [(0, "system", 8), (2, "developer", 19)]
    assert [text for _, text in told] == ["Be kind.", "Sprich Deutsch, 好"]
    assert told[0][0].digest == keyed("Be kind.", KEY) != keyed("Be kind.", b"o" * 32)


def test_tools_and_who_took_them_away():
    request = asked(
        {"role": "user", "content": "Hi."},
        tools=[function("search"), function("send_mail"), {"type": "web_search"}],
        functions=[{"name": "old"}, {"name": "search"}],
    )
    decision = structs.replace(
        DECISION, tools_removed=("send_mail", "old"), tools_removed_by={"send_mail": ("key", "label")}
    )
    told = tools(request, decision)
    assert told.requested == ("search", "send_mail", "web_search", "old")
    assert told.admitted == ("search", "web_search")
    assert told.removed == (RemovedTool("send_mail", ("key", "label")), RemovedTool("old"))
    assert tools(request, None).admitted == ()


def test_each_result_behind_the_question_has_the_calls_that_followed():
    request = asked(
        {"role": "user", "content": "Earlier."},
        {"role": "assistant", "content": None, "tool_calls": [call("c0", "search")]},
        {"role": "tool", "tool_call_id": "c0", "content": "not since the question"},
        {"role": "user", "content": "Refund it."},
        {"role": "assistant", "content": None, "tool_calls": [call("c1", "search"), call("c2", "lookup", "custom")]},
        {"role": "tool", "tool_call_id": "c1", "content": "[]"},
        {"role": "tool", "tool_call_id": "c2", "content": "found"},
        {"role": "assistant", "content": None, "tool_calls": [call("c3", "refund"), call("c4", "refund")]},
        {"role": "tool", "tool_call_id": "c3", "content": "done"},
        {"role": "assistant", "content": "So far."},
        {"role": "tool", "tool_call_id": "nobody", "content": "stray"},
        tools=[function("search"), function("refund"), function("send_mail")],
    )
    assert results_since(request, ["send_mail", "format_disk", "rm"], KEY) == (
        ResultSince(5, "search", keyed("[]", KEY), 2, ("refund",)),
        ResultSince(6, "lookup", keyed("found", KEY), 5, ("refund",)),
        ResultSince(8, "refund", keyed("done", KEY), 4, ()),
        ResultSince(10, None, keyed("stray", KEY), 5, ("send_mail", "(unknown)"), answer=True),
    )


def test_the_older_form_of_calls_is_read_as_well():
    request = asked(
        {"role": "user", "content": "Refund it."},
        {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": "{}"}},
        {"role": "function", "name": "find", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "refund", "arguments": "{}"}},
    )
    assert [(one.tool, one.followed_by) for one in results_since(request, [], KEY)] == [("find", ("refund",))]


def test_without_a_question_or_results_nothing_followed():
    request = asked({"role": "system", "content": "Be kind."}, {"role": "assistant", "content": "Hm."})
    assert results_since(request, ["x"], KEY) == ()
