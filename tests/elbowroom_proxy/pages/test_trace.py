"""A record's page: what each question is answered by, in each version of the record."""

from __future__ import annotations

import json
from typing import Any

from elbowroom.account.convert import convert
from elbowroom.account.trace import Facts, record
from elbowroom_proxy.cli.pack import Offline
from elbowroom_proxy.pages.trace import page, why_no_replay
from elbowroom_proxy.settings import load

RESULT = {"message": 3, "tool": "stock", "bytes_before": 90, "bytes_after": 40, "capped": True}
BODY = json.dumps(
    {
        "model": "demo-small",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How loud is it?"}],
        "documents": [{"id": "a", "text": "It is heard with 41 dB."}, {"id": "b", "text": "It is heard with 41 dB!"}],
    }
).encode()


def decided(**more: Any) -> dict[str, Any]:
    return {**Offline(load(environ={}), None, None).pack(BODY).story, "trace_id": "a" * 32, **more}


def unread() -> dict[str, Any]:
    return record(None, Facts(trace_id="aaa", time="2026-03-01T10:00:00.000Z", status=400))


def test_a_decision_is_told():
    found = page(decided(cited={"verified": ["S1"], "invented": ["S7"], "uncited": []}))
    assert [one.id for one in found.admitted] == [one.id for one in found.supporting] == ["a"]
    assert [(one.reason, one.n) for one in found.left_out] == [("duplicate", 1)]
    assert found.bar is not None
    assert found.why_class.startswith("chosen by ")
    assert ("bad", "cites what nobody gave out") in found.badges
    assert [*found.results, *found.since, *found.money] == []
    assert found.answer is None


def test_a_request_that_could_not_be_read_has_a_page():
    found = page(unread())
    assert (found.bar, found.passages, found.timeline, found.yielded) == (None, (), (), ())
    assert found.no_instructions == "no system or developer text"
    assert found.why_class == "chosen by nobody"
    assert why_no_replay(unread()).startswith("No decision")
    assert "capture: hash" in why_no_replay(decided())


def test_what_the_answer_cites_is_named_first():
    documents = [
        {"id": name, "text": text}
        for name, text in (("a", "It hums."), ("b", "The motor is M-7."), ("c", "It is heard with 41 dB."))
    ]
    body = json.dumps({"model": "demo-small", "messages": [{"role": "user", "content": "?"}], "documents": documents})
    story = Offline(load(environ={}), None, None).pack(body.encode()).story
    (last,) = [one["label"] for one in story["documents"] if one["id"] == "c"]
    found = page({**story, "cited": {"verified": [last], "invented": [], "uncited": []}})
    assert [one.id for one in found.admitted] != [one.id for one in found.named]
    assert next(one.id for one in found.named) == "c"
    assert sorted(one.id for one in found.named) == ["a", "b", "c"]


def test_where_nothing_was_decided_it_says_why():
    refused = {**unread(), "error": {"code": "rate_limit_exceeded", "message": "later"}}
    assert page(refused).undecided == "the request was refused before anything was decided"
    assert page({**unread(), "relayed": {"route": "responses"}}).undecided == "the request was handed on as it came"
    assert page({}).undecided == "the record does not say"
    assert page(decided()).undecided == ""


def test_what_is_admitted_depends_on_who_chose():
    assert "no rule left out" in page(decided()).why_admitted
    assert page(decided(mode="passthrough")).why_admitted == page(decided(mode="shadow")).why_admitted
    assert "the client's order" in page(decided(mode="shadow")).why_admitted


def test_records_of_the_first_version_have_a_page_too():
    old = {name: value for name, value in decided().items() if name not in ("instructions", "results_since", "tools")}
    old |= {"version": 1, "tool_results": [RESULT], "hash_key_id": None}
    stories: list[dict[str, Any]] = [old, convert(dict(old)), {"documents": []}, {}]
    for story in stories:
        found = page(story)
        assert found.instructions == ()
        assert [one.then for one in found.since] == ([""] if story.get("tool_results") else [])


def test_a_record_that_names_no_system_text_says_so():
    assert page(decided(instructions=[])).no_instructions == "the record does not say which system text governed it"


def test_the_instructions_are_shown_where_they_are_stored():
    told = [
        {"message": 0, "role": "system", "digest": "abc", "bytes": 9},
        {"role": "developer", "digest": "d", "bytes": 1},
    ]
    found = page(decided(instructions=told), None, {"abc": "Be brief."}.get)
    assert [(one.role, one.text) for one in found.instructions] == [("system", "Be brief."), ("developer", None)]


def test_each_result_since_the_question_says_what_followed():
    told = [
        {"message": 3, "tool": "stock", "digest": "d", "bytes": 90, "followed_by": ["order"], "answer": False},
        {"message": 5, "tool": None, "digest": "d", "bytes": 7, "followed_by": [], "answer": True},
    ]
    found = page(decided(results_since=told, tool_results=[RESULT], hash_key_id="1"))
    assert [(one.tool, one.then, one.done["capped"]) for one in found.since] == [
        ("stock", "the next message called order", True),
        (None, "the answer called nothing", None),
    ]
    assert len(found.results) == 1
    assert page(decided(results_since=[], tool_results=[RESULT], hash_key_id="1")).since == ()


def test_what_was_held_and_what_it_came_to():
    amounts = {"tokens": 800, "micro_usd": 1234, "rate_tokens": 800}
    nothing = dict.fromkeys(amounts, 0)
    held = {"state": "denied", "amounts": amounts, "refused": ["org acme: max_tokens"]}
    settled = {"by": "usage", "state": "settled", "amounts": amounts, "overrun": {**nothing, "tokens": 5}}
    assert page(decided(hold=held, settlement=settled)).money == (
        ("held", "800 tokens, $0.001234, denied"),
        ("refused by", "org acme: max_tokens"),
        ("settled", "800 tokens, $0.001234, settled by usage"),
        ("beyond the hold", "5 tokens, $0"),
    )
    assert len(page(decided(hold={**held, "refused": []}, settlement={**settled, "overrun": nothing})).money) == 2


def test_the_time_is_divided_where_it_is_known():
    found = page(decided(timings_ms={"overhead": 10, "first_byte": 60, "total": 100, "elsewhere": 9000}))
    assert [(one.name, one.ms, one.x, one.width) for one in found.timeline] == [
        ("read, decided, packed", 10, 0, 10), ("waited for the model", 50, 10, 50), ("answered", 40, 60, 40),
    ]  # fmt: skip
    assert [one.name for one in page(decided(timings_ms={"overhead": 10, "total": 5})).timeline] == [
        "read, decided, packed"
    ]
    assert page(decided(timings_ms={"overhead": 0.0})).timeline == ()


def test_what_yielded_is_told_and_the_answer_where_it_was_captured():
    found = page(
        decided(too_much=[{"step": "passages_dropped", "n": 2}, {"step": "else", "n": 1}]), {"answer": "41 dB"}
    )
    assert found.yielded == (("passages left out", 2), ("else", 1))
    assert found.answer == "41 dB"
