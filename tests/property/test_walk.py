"""What holds for every request, whatever is in it: the numbers, the parts, and the bytes that were not ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.decision import decide, recount
from elbowroom.needs import Answer, Steps
from elbowroom.read.policy import Policy
from elbowroom.records import Edit, Mode, Packed, Refused
from tests.property.chats import SMALL, bodies, policies, read
from tests.walk import bill, run, setting

EXAMPLES = settings(max_examples=100)


def packed(body: dict[str, Any], policy: Policy) -> Packed | None:
    """The outcome; None where it was refused, for the one reason there may be."""
    outcome = run(decide(read(body), setting(policy, SMALL)))
    if isinstance(outcome, Refused):
        assert (outcome.code, outcome.status_hint, policy.mode) == ("context_length_exceeded", 400, Mode.ENFORCE)
        return None
    return outcome


@EXAMPLES
@given(bodies(), policies())
def test_the_numbers_are_the_bill_and_the_prompt_fits(body: dict[str, Any], policy: Policy):
    result = packed(body, policy)
    if result is None:
        return
    decision = result.decision
    counted = decision.counted or run(recount(read(body), setting(policy, SMALL)))
    billed = bill(result.body, SMALL)
    assert (counted.tokens, counted.basis) == (billed.tokens, billed.basis)
    # What was evicted is still doubted, so the doubt may be too large, never too small.
    assert counted.margin == billed.margin or (decision.history_dropped and counted.margin > billed.margin)
    if decision.window is None:
        assert "documents" not in body
        if policy.mode is Mode.ENFORCE:
            assert counted.tokens + 200 <= SMALL.context_window
        return
    window = decision.window
    parts = (
        *(window.instructions, window.tools, window.examples, window.conversation, window.question, window.framing),
        decision.evidence_tokens,
    )
    assert sum(parts) == counted.tokens
    assert min(parts) >= 0
    assert decision.evidence_tokens <= window.evidence_budget <= window.evidence_ceiling
    if policy.mode is Mode.ENFORCE:
        assert counted.tokens + window.answer_reserve <= SMALL.context_window
    if decision.evidence_tokens:
        assert counted.tokens + window.answer_reserve + window.safety_margin <= window.input_limit


@EXAMPLES
@given(bodies(tagged=True), policies())
def test_admitted_and_dropped_are_all_documents_each_once(body: dict[str, Any], policy: Policy):
    result = packed(body, policy)
    if result is None:
        return
    fates = result.decision.documents
    assert [fate.position for fate in sorted(fates, key=lambda fate: fate.position)] == list(
        range(len(body["documents"]))
    )
    assert {fate.decision for fate in fates} <= {"admitted", "dropped"}
    for fate in fates:
        assert (fate.reason is None) == (fate.decision == "admitted") == (fate.label is not None)
        assert fate.id == body["documents"][fate.position]["id"]
    admitted = sorted(int((fate.label or "")[1:]) for fate in fates if fate.label)
    assert admitted == list(range(1, len(admitted) + 1))
    assert [source.label for source in result.sources] == [f"S{number}" for number in admitted]
    if policy.mode is Mode.ENFORCE:
        assert len({fate.id for fate in fates if fate.label}) == len(admitted)


@EXAMPLES
@given(bodies(), policies())
def test_what_is_not_ours_is_the_client_s_byte_for_byte(body: dict[str, Any], policy: Policy):
    request = read(body)
    result = packed(body, policy)
    if result is None:
        return
    sent = json.loads(result.body)
    assert {"documents", "context"}.isdisjoint(sent)
    decision = result.decision
    gone = {*decision.history_dropped, *decision.examples_dropped}
    came = [message for index, message in enumerate(body["messages"]) if index not in gone]
    raws = [message.raw for index, message in enumerate(request.messages) if index not in gone]
    assert [message["role"] for message in sent["messages"]] == [message["role"] for message in came]
    question = max(index for index, message in enumerate(came) if message["role"] == "user")
    for index, (message, raw) in enumerate(zip(came, raws, strict=True)):
        if message["role"] in ("system", "developer"):
            assert raw in result.body
        if index != question and message["role"] != "tool":
            assert sent["messages"][index] == message
            assert raw in result.body
    asked, now = came[question]["content"], sent["messages"][question]["content"]
    if isinstance(asked, str):
        assert now.endswith(asked)
        assert json.dumps(asked).encode()[1:] in result.body
    else:
        assert now[len(now) - len(asked) :] == asked
        assert len(now) - len(asked) <= 1
    clamped = {"max_tokens", "max_completion_tokens"} if Edit.OUTPUT_CLAMPED in decision.edits else set()
    asked_usage = {"stream_options"} if result.usage_asked else set()
    for name in set(body) - {"messages", "documents", *clamped}:
        assert sent[name] == body[name]
    assert set(sent) == set(body) - {"documents"} | asked_usage


@EXAMPLES
@given(bodies(), policies())
def test_no_instruction_is_evicted_and_no_tool_message_is_alone(body: dict[str, Any], policy: Policy):
    result = packed(body, policy)
    if result is None:
        return
    roles = [message["role"] for message in body["messages"]]
    question = max(index for index, role in enumerate(roles) if role == "user")
    gone = {*result.decision.history_dropped, *result.decision.examples_dropped}
    assert all(index < question and roles[index] not in ("system", "developer") for index in gone)
    called: set[str] = set()
    open_calls: set[str] = set()
    for message in json.loads(result.body)["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in called
            open_calls.discard(message["tool_call_id"])
        else:
            assert not open_calls
        made = {call["id"] for call in message.get("tool_calls") or ()}
        called |= made
        open_calls |= made
    assert not open_calls


@EXAMPLES
@given(bodies(), policies(), st.booleans())
def test_the_same_input_gives_the_same_bytes_and_so_do_its_recorded_answers(
    body: dict[str, Any], policy: Policy, warm: bool
):
    first = run(decide(read(body), setting(policy, SMALL)))
    assert run(decide(read(body), setting(policy, SMALL))) == first
    held = setting(policy, SMALL)
    if warm:  # what other requests left in the memory of texts changes nothing
        run(decide(read(body), held))
    assert first.decision is not None
    recorded = iter(first.decision.answers)
    assert replayed(decide(read(body), held), recorded) == first
    assert list(recorded) == []


def replayed(steps: Steps[Packed | Refused], answers: Iterator[Answer]) -> Packed | Refused | None:
    """The end of a walk that gets recorded answers; None where there are too few."""
    answer: Any = None
    try:
        while True:
            steps.send(answer)
            answer = next(answers)
    except StopIteration as end:
        return end.value


@EXAMPLES
@given(bodies(tagged=False), policies())
def test_where_nothing_is_edited_the_body_is_the_client_s_own(body: dict[str, Any], policy: Policy):
    request = read(body)
    outcome = run(decide(request, setting(policy, SMALL)))
    if isinstance(outcome, Packed):
        assert (outcome.body is request.body) == (outcome.decision.edits == ())
        if policy.mode is Mode.PASSTHROUGH:
            assert outcome.body is request.body
