"""Which texts are kept beside a record, and what the record says of them."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom.account.trace import Captured
from elbowroom.read.policy import Files, Policy
from elbowroom.read.request import read_request
from elbowroom.records import Drop, Fate, Principal
from elbowroom_proxy.ports import Texts
from elbowroom_proxy.texts import Keeper, Seen, Told
from elbowroom_proxy.tracing import ContentKeys, Full, Traces
from tests.elbowroom.account.test_trace import DECISION

KEYS = ContentKeys("7", b"h" * 32, b"t" * 32)
DAY = dt.date(2026, 3, 1)
POLICY = Policy(digest="abc", files=Files(("policy.yaml", "id: x"), (("how_to.yaml", "name: how_to"),)))
BODY = {
    "model": "m",
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi."}],
    "documents": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}],
}


def seen(**more: Any) -> Seen:
    request = read_request(json.dumps(BODY).encode(), {}, max_documents=9)
    fates = (Fate(0, "a", "admitted", label="S1"), Fate(1, "", "dropped", reason=Drop.NOT_PERMITTED))
    told: dict[str, Any] = {
        "trace_id": "t1",
        "day": DAY,
        "principal": Principal(tenant="acme"),
        "request": request,
        "decision": structs.replace(DECISION, documents=fates),
        "policy": POLICY,
        "permitted": True,
        "headers": {"x-elbowroom-class": "how_to", "authorization": "Bearer secret"},
        "answer": "Hello.",
    }
    return Seen(**{**told, **more})


def test_by_default_a_record_has_hashes_and_instructions_lie_beside_it():
    told, texts = Keeper(Traces(), KEYS).of(seen())
    assert told.hash_key_id == "7"
    assert [one.role for one in told.instructions] == ["system"]
    assert told.captured is None
    assert texts.instructions == ((told.instructions[0].digest, "Be kind."),)
    assert texts.capture is None
    assert texts.policy is not None
    digest, files = texts.policy
    assert digest == "abc"
    assert json.loads(files) == {
        "policy": ["policy.yaml", "id: x"],
        "classes": [["how_to.yaml", "name: how_to"]],
        "sources": None,
    }


def test_a_policy_is_put_in_words_once():
    keeper = Keeper(Traces(), KEYS)
    first, again = keeper.of(seen())[1].policy, keeper.of(seen())[1].policy
    assert first is not None
    assert again is not None
    assert first[1] is again[1]
    assert keeper.of(seen(policy=Policy()))[1].policy is None


def test_instructions_are_hashed_only_where_that_is_wanted():
    told, texts = Keeper(Traces(instructions="hash"), KEYS).of(seen())
    assert len(told.instructions) == 1
    assert texts.instructions == ()


def test_captured_texts_name_what_may_not_be_seen_and_no_other_headers():
    keeper = Keeper(Traces(capture="redacted"), KEYS)
    assert keeper.captures(None, DAY)
    told, texts = keeper.of(seen())
    assert told.captured == Captured("redacted", "2026-03-08")
    assert texts.capture is not None
    assert texts.capture.hidden == {1}
    assert texts.capture.headers == {"x-elbowroom-class": "how_to"}
    assert (texts.capture.answer, texts.capture.redacted, texts.capture.trace_id) == ("Hello.", True, "t1")


def test_a_message_that_holds_what_may_not_be_seen_is_named():
    fates = (Fate(0, "", "dropped", reason=Drop.NOT_PERMITTED, message=1),)
    _, texts = Keeper(Traces(capture="redacted"), KEYS).of(seen(decision=structs.replace(DECISION, documents=fates)))
    assert texts.capture is not None
    assert not texts.capture.hidden
    assert texts.capture.hidden_in == {1}


@pytest.mark.parametrize("more", [{"permitted": False}, {"decision": None}, {"principal": Principal(tenant="other")},
                                  {"principal": None}, {"day": dt.date(2026, 4, 1)}], ids=str)  # fmt: skip
def test_full_texts_are_kept_of_nobody_else(more):
    full = Full(reason="incident", until=dt.date(2026, 3, 2), tenants=("acme",))
    keeper = Keeper(Traces(capture="full", full=full), KEYS)
    assert keeper.of(seen())[0].captured == Captured("full", "2026-03-02")
    assert not keeper.captures(None, DAY)
    told, texts = keeper.of(seen(**more))
    assert (told.captured, texts.capture) == (None, None)


def test_a_request_that_could_not_be_read_has_no_texts():
    keeper = Keeper(Traces(capture="redacted"), KEYS)
    assert keeper.of(Seen(trace_id="t", day=DAY)) == (Told(hash_key_id="7"), Texts())
    assert not keeper.promises
    assert Keeper(Traces(on_trace_failure="reject"), KEYS).promises
