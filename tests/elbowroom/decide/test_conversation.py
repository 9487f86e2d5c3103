from __future__ import annotations

import json
from typing import Any

from elbowroom import count
from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.access import Rights
from elbowroom.decide.conversation import (
    Costs,
    body,
    cap_tool_results,
    measure,
    results_told,
    stub,
    undivided,
    within,
)
from elbowroom.decide.ready import Ready, ready
from elbowroom.decide.shapes import NOTICE
from elbowroom.read.policy import Policy, Tool, ToolResults
from elbowroom.read.split import split
from elbowroom.records import MOST_SPANS, Basis, Count, Principal, Request
from tests.walk import MODEL, chat, read, run, tokens

TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]


def agent(*results: str | list[dict[str, Any]], tool: str = "find", **more: Any) -> Request:
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": tool, "arguments": "{}"}} for i in range(len(results))
    ]
    return read(
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "List them"},
                *(
                    message
                    for call, result in zip(calls, results, strict=True)
                    for message in (
                        {"role": "assistant", "content": None, "tool_calls": [call]},
                        {"role": "tool", "tool_call_id": call["id"], "content": result},
                    )
                ),
            ],
            **more,
        }
    )


def rows(n: int) -> str:
    return json.dumps([{"id": i, "name": f"item {i}"} for i in range(n)])


def cap(request: Request, policy: Policy, *, only_named: bool = False) -> Any:
    return run(cap_tool_results(made(request, policy), policy, Tally("o200k_base"), only_named=only_named))


def made(request: Request, policy: Policy) -> Ready:
    return ready(request, policy, Rights(Principal(), policy.access), Known(1 << 20))


def test_a_result_over_its_rows_is_capped_and_says_so() -> None:
    request = agent(rows(500))
    messages, (result,) = cap(request, Policy())
    assert (result.tool, result.rows_before, result.rows_after, result.capped) == ("find", 500, 200, True)
    assert result.bytes_after < result.bytes_before
    assert json.loads(messages[2].text)[:1] == [{"id": 0, "name": "item 0"}]
    assert messages[2].value["tool_call_id"] == "c0"
    assert messages[:2] == request.messages[:2]


def test_a_short_result_stays_the_message_that_came() -> None:
    request = agent("sunny")
    messages, (result,) = cap(request, Policy())
    assert messages[2] is request.messages[2]
    assert not result.capped


def test_the_newest_results_are_served_first_from_what_all_may_take() -> None:
    policy = Policy(tool_results=ToolResults(max_tokens=600, max_total_tokens=1_000, max_rows=500))
    messages, results = cap(agent(rows(300), rows(300)), policy)
    older, newer = results
    assert newer.rows_after > older.rows_after > 0
    assert sum(tokens(messages[i].text) for i in (2, 4)) <= 1_000


def test_only_named_tools_are_touched_where_asked() -> None:
    policy = Policy(tools={"find": Tool(max_rows=3)})
    messages, results = cap(agent(rows(9)), policy, only_named=True)
    assert results[0].rows_after == 3
    request = agent(rows(999), tool="other")
    messages, results = cap(request, policy, only_named=True)
    assert (messages, results) == (request.messages, ())


def test_terms_and_framing_add_up_to_the_whole() -> None:
    request = read(
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "name": "example_user", "content": "2+2?"},
                {"role": "assistant", "name": "example_assistant", "content": "4"},
                {"role": "user", "content": "Hello there"},
                {"role": "assistant", "content": "Hi"},
                {"role": "user", "content": "What is new?"},
            ],
            "tools": TOOLS,
        }
    )
    counter, tally = count.build(MODEL), Tally("o200k_base")
    costs = run(measure(request, request.messages, split(request), counter, tally, ["one more\n"]))
    plan = counter.plan(body(request, request.messages))
    run(tally.measure(plan.texts))
    assert costs.total == tally.count(plan)
    assert costs.question == 3 + tokens("user") + tokens("What is new?")
    assert len(costs.examples) == 2
    assert len(costs.turns) == 1
    assert costs.tools > 0
    assert costs.tail == 0
    parts = costs.instructions + costs.tools + sum(costs.examples) + sum(costs.turns) + costs.tail + costs.question
    assert parts + costs.framing == costs.total.tokens
    assert tally.tokens["one more\n"] == tokens("one more\n")


def test_a_message_that_is_no_result_is_left_alone() -> None:
    request = chat(("system", "Be brief."), ("user", rows(900)))
    assert cap(request, Policy()) == (request.messages, ())


def test_a_conversation_without_a_question_has_none_to_pay() -> None:
    request = chat(("system", "Be brief."))
    costs = run(measure(request, request.messages, split(request), count.build(MODEL), Tally("o200k_base")))
    assert costs.question == 0


COSTS = Costs(Count(1_000, Basis.BOUNDED), 100, 50, (20,), (400, 300), 0, 80)


def test_parts_of_a_smaller_total_are_in_proportion():
    smaller = within(COSTS, Count(250, Basis.EXACT))
    assert (smaller.instructions, smaller.tools, smaller.examples, smaller.turns) == (25, 12, (5,), (100, 75))
    assert (smaller.tail, smaller.question, smaller.total.tokens) == (0, 20, 250)
    assert smaller.framing >= 0


def test_what_a_larger_total_holds_more_is_framing():
    larger = within(COSTS, Count(1_100, Basis.EXACT))
    assert larger.turns == COSTS.turns
    assert larger.framing == COSTS.framing + 100


def test_where_only_the_whole_is_known_all_of_it_is_framing():
    request = chat(("user", "one"), ("assistant", "two"), ("user", "three"))
    costs = undivided(77, split(request))
    assert costs.framing == 77
    assert costs.turns == (0,)


def test_older_results_beyond_what_all_may_take_become_a_line_and_keep_their_calls() -> None:
    policy = Policy(tool_results=ToolResults(max_tokens=600, max_total_tokens=600, max_rows=500))
    request = agent(rows(300), "brief", rows(300))
    messages, (oldest, brief, newest) = cap(request, policy)
    assert json.loads(messages[2].text) == {NOTICE: f"an older result of {len(rows(300))} bytes, left out"}
    assert messages[2].text == stub(rows(300))
    assert (oldest.capped, oldest.rows_after, newest.capped) == (True, None, True)
    assert (messages[4].text, brief.capped) == ("brief", False)
    assert [message.value.get("tool_call_id") for message in messages] == [None, None, "c0", None, "c1", None, "c2"]


def test_bytes_can_be_limited_too() -> None:
    messages, (result,) = cap(agent(rows(100)), Policy(tools={"find": Tool(max_bytes=600)}))
    assert result.rows_after > 5
    assert result.bytes_after <= 600 + 40
    assert len(json.loads(messages[2].text)) == result.rows_after + 1
    assert not cap(agent(rows(10)), Policy(tools={"find": Tool(max_bytes=600)}))[1][0].capped


def test_a_next_page_is_promised_only_where_it_can_be_asked_for() -> None:
    policy = Policy(tools={"find": Tool(max_rows=3, pagination="page")})
    paged = {"type": "function", "function": {"name": "find", "parameters": {"properties": {"page": {}}}}}
    said = {
        name: json.loads(cap(agent(rows(9), tools=tools), policy)[0][2].text)[3][NOTICE]
        for name, tools in {
            "paged": [paged],
            "other": TOOLS,
            "none": None,
            "own": [{"type": "search", "function": "x"}],
        }.items()
    }
    assert said["paged"].endswith("bytes, the rest by another call with page")
    assert [name for name, text in said.items() if "page" in text] == ["paged"]
    older = agent(rows(9), functions=[{"name": "other"}, paged["function"]])
    assert "the rest by another call with page" in cap(older, policy)[0][2].text
    unpaged = Policy(tools={"find": Tool(max_rows=3)})
    assert "page" not in cap(agent(rows(9), tools=[paged]), unpaged)[0][2].text


def test_what_was_left_out_or_is_documents_is_not_cut() -> None:
    tools = {"find": Tool(max_rows=1, response_schema={"type": "object"}), "search": Tool(returns="documents")}
    messages, (result,) = cap(agent(rows(9)), Policy(tools=tools))
    assert "left out" in messages[2].text
    assert (result.withheld, result.capped) == ("its form is not the one that is expected of it (schema /type)", False)
    assert cap(agent(rows(9), tool="search"), Policy(tools=tools))[1] == ()


def test_what_is_said_beside_documents_is_cut_like_any_result() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "document", "document": {"text": "Paris."}},
        {"type": "text", "text": rows(9)},
    ]
    messages, (result,) = cap(agent(parts), Policy(tools={"find": Tool(max_rows=3)}))
    assert (result.rows_before, result.rows_after) == (9, 3)
    assert "3 of 9 rows" in messages[2].text


def test_what_is_told_of_a_result_that_nobody_cut() -> None:
    policy = Policy(tools={"find": Tool(redact=("id",))})
    request = agent(json.dumps([{"id": 1, "name": "[INST]\u200b" * 60}], ensure_ascii=False))
    (result,) = results_told(made(request, policy))
    assert (result.redacted, result.cleaned, result.capped, result.rows_before) == (1, 120, False, None)
    assert len(result.cleaned_spans) == MOST_SPANS
