"""A line of any record, real or damaged, becomes its row, nothing, or an error that says so."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.row import MOST, Row, Unread, milliseconds, row, storable
from tests.records import owned, told


def of(record) -> Row:
    found = row(json.dumps(record).encode())
    assert found is not None
    return found


def test_a_whole_record_makes_a_whole_row():
    record = told(
        "a",
        8,
        **owned("acme", "org", "team"),
        dropped=["stale", "stale", "duplicate"],
        admitted=2,
        policy={"id": "base", "version": "3", "digest": "abc"},
        query_class="how_to",
        counted={"tokens": 100, "basis": "exact", "margin": 0},
        billed={"prompt_tokens": 101, "completion_tokens": 7},
        count_error=1,
        evidence_tokens=40,
        cited={"verified": ["S1"], "invented": ["S8", "S9"], "uncited": ["S2"]},
        calls_tainted=3,
        conversation_id="c",
        client_request_id="mine",
        finish_reason="stop",
    )
    assert of(record) == Row(
        trace_id="a",
        at=1772352000000,
        time="2026-03-01T08:00:00.000+00:00",
        request_id="req_a",
        client_request_id="mine",
        conversation_id="c",
        subject="bot",
        tenant="acme",
        org="org",
        team="team",
        model="gpt-4o",
        query_class="how_to",
        mode="enforce",
        policy="base",
        policy_version="3",
        policy_digest="abc",
        status=200,
        finish_reason="stop",
        admitted=2,
        documents=5,
        dropped={"stale": 2, "duplicate": 1},
        verified=1,
        invented=2,
        tainted=3,
        uncited=1,
        cited=True,
        evidence_tokens=40,
        counted=100,
        basis="exact",
        billed=101,
        completion=7,
        count_error=1,
        overhead_ms=2.5,
        total_ms=40.0,
    )


def test_a_record_that_says_next_to_nothing_is_one():
    assert of({"trace_id": "a", "time": "t"}) == Row(trace_id="a", at=0, time="t")


def test_a_budget_that_refused_is_over_and_a_rate_is_not():
    assert of(told("a", error={"code": "insufficient_quota"})).over_budget
    assert not of(told("a", error={"code": "rate_limit_exceeded"})).over_budget


def settlement(overrun=0, **amounts):
    return {"by": "usage", "state": "settled", "amounts": amounts, "overrun": {"tokens": 0, "micro_usd": overrun}}


def test_what_came_to_more_than_was_held_is_over_budget():
    assert of(told("a", settlement=settlement(overrun=1))).over_budget
    assert not of(told("a", settlement=settlement())).over_budget


@pytest.mark.parametrize(
    ("record", "micro_usd"),
    [
        ({}, None),
        ({"settlement": settlement(tokens=5, micro_usd=70)}, 70),
        ({"settlement": settlement(micro_usd=70), "asides": [{"micro_usd": 5}, {"micro_usd": None}]}, 75),
        ({"asides": [{"micro_usd": 5}, {"micro_usd": 9, "cached": True}]}, 5),
    ],
)
def test_money_is_what_it_came_to_with_the_calls_beside_it(record, micro_usd):
    assert of(told("a", **record)).micro_usd == micro_usd


@pytest.mark.parametrize(
    ("read", "words"),
    [
        ({"action": "list", "found": 3, "filters": {"tenant": "acme", "since": 7}}, "list tenant=acme since=7: 3"),
        ({"action": "show", "found": 0, "id": "x"}, "show x: 0"),
        ({"action": "overview", "found": 9, "filters": {}}, "overview: 9"),
    ],
)
def test_a_reading_says_what_was_sought(read, words):
    assert of({"kind": "read", "trace_id": "r", "time": "t", "read": read}).read == words


@pytest.mark.parametrize("kind", ["read", "shadow"])
def test_other_kinds_are_rows_of_their_own(kind):
    assert of({**told("a"), "kind": kind}).kind == kind


def test_lines_that_only_keep_the_chain_are_no_rows():
    assert row(b'{"kind": "checkpoint", "head": "x"}') is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b'{"trace_id": "a"}',
        b'{"trace_id": "a", "time": 3}',
        b'{"trace_id": "a", "time": "t", "documents": [1]}',
        b'{"trace_id": "a", "ti',
        b'{"trace_id": "\xff", "time": "t"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_said_to_be_none(line):
    with pytest.raises(Unread):
        row(line)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: json.dumps({"trace_id": text}).encode()))
def test_no_line_does_anything_else(line):
    try:
        found = row(line)
    except Unread:
        return
    assert found is None or isinstance(found, Row)


def test_half_a_surrogate_pair_is_stored_as_a_question_mark_and_found_by_one():
    found = of(told("a", client_request_id='mine "é" \ud800'))
    assert found.client_request_id == storable('mine "é" \ud800') == 'mine "é" ?'


@pytest.mark.parametrize("number", [MOST, -MOST, 2**64 - 1])
def test_a_number_that_is_nobodys_tokens_is_none(number):
    found = of(told("a", billed={"prompt_tokens": number, "completion_tokens": 1}, count_error=number))
    assert (found.billed, found.count_error, found.completion) == (None, None, 1)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:00.5+01:00", 500),
        ("1970-01-01", 0),
        ("1970-01-02T00:00:00", 86_400_000),
        ("yesterday", 0),
    ],
)
def test_times_are_milliseconds(time, expected):
    assert milliseconds(time) == expected
