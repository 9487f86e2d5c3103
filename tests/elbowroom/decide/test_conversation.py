from __future__ import annotations

import json
from typing import Any

from elbowroom import count
from elbowroom.count.counter import Tally
from elbowroom.decide.conversation import Costs, body, cap_tool_results, measure, undivided, within
from elbowroom.read.policy import Policy, ToolResults
from elbowroom.read.split import split
from elbowroom.records import Basis, Count, Request
from tests.walk import MODEL, chat, read, run, tokens

TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]


def agent(*results: str, tool: str = "find", **more: Any) -> Request:
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
    return run(cap_tool_results(request, policy, Tally("o200k_base"), only_named=only_named))


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
    policy = Policy(tools={"find": ToolResults(max_rows=3)})
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
