"""What is kept for the answer: the client's word, else the schema's size, else the class's number."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.read.contract import ReservePlan, reserve
from elbowroom.read.policy import Answer, Policy, QueryClass
from elbowroom.read.request import read_request
from elbowroom.records import Model

CLASS = QueryClass("general", answer_reserve=700)
MODEL = Model("m", "demo", "m", 128_000, 16_384, "openai_chat", "gpt-4o", "o200k_base")
FLAG = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "additionalProperties": False}
FORM = {"type": "json_schema", "json_schema": {"name": "x", "schema": FLAG}}


def plan(model=MODEL, policy=Policy(), **members):  # noqa: B008 - frozen
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **members}
    return reserve(read_request(json.dumps(body).encode(), {}, max_documents=1), CLASS, policy, model)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, ReservePlan(700, (), None, 1, "class")),
        ({"n": None, "max_tokens": None}, ReservePlan(700, (), None, 1, "class")),
        ({"n": 3}, ReservePlan(2100, (), None, 3, "class")),
        ({"max_tokens": 50}, ReservePlan(50, (), 50, 1, "client")),
        ({"max_completion_tokens": 50, "n": 2}, ReservePlan(100, (), 50, 2, "client")),
        ({"max_completion_tokens": 50, "max_tokens": 60}, ReservePlan(60, (), 60, 1, "client")),
        ({"max_tokens": 1_000_000}, ReservePlan(16_384, (), 1_000_000, 1, "client")),
        ({"max_tokens": 50, "reasoning_effort": "high"}, ReservePlan(50, (), 50, 1, "client")),
        ({"max_tokens": 50, "response_format": FORM}, ReservePlan(50, (), 50, 1, "client")),
        ({"reasoning_effort": "low"}, ReservePlan(1700, (), None, 1, "class")),
        ({"reasoning_effort": "none"}, ReservePlan(700, (), None, 1, "class")),
        ({"reasoning": {"effort": "medium"}, "n": 2}, ReservePlan(9400, (), None, 2, "class")),
        ({"reasoning": {"summary": "auto"}}, ReservePlan(700, (), None, 1, "class")),
        ({"reasoning_effort": "unheard of"}, ReservePlan(16_384, (), None, 1, "class")),
        ({"response_format": {"type": "json_object"}}, ReservePlan(700, (), None, 1, "class")),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, ReservePlan(700, (), None, 1, "class")),
        ({"response_format": FORM}, ReservePlan(128, ('{"ok": false}',), None, 1, "schema")),
        (
            {"response_format": FORM, "n": 2, "reasoning_effort": "low"},
            ReservePlan(2256, ('{"ok": false}',) * 2, None, 2, "schema"),
        ),
    ],
)
def test_which_rule_gives_what(members, expected):
    assert plan(**members) == expected


def test_a_schema_beyond_all_sense_reserves_what_the_model_can_emit():
    for items in (10**9, 1000):
        schema = {"type": "array", "items": {"type": "string"}, "maxItems": items}
        form = {"type": "json_schema", "json_schema": {"schema": schema}}
        assert plan(response_format=form, n=2) == ReservePlan(2 * 16_384, (), None, 2, "schema")


def test_a_policy_without_allowances_has_none():
    assert plan(policy=Policy(answer=Answer(reasoning={})), reasoning_effort="high").constant == 700


@given(st.integers(1, 200_000), st.integers(1, 128))
def test_no_choice_is_given_more_than_the_model_can_emit(asked, n):
    given_plan = plan(max_tokens=asked, n=n)
    assert given_plan.constant == n * min(asked, MODEL.max_output_tokens)
    assert (given_plan.client_max, given_plan.n, given_plan.texts) == (asked, n, ())
