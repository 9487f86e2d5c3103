"""Recorded decisions taken again: the same bytes from their own answers, and what another policy changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from elbowroom.account.trace import Facts, record
from elbowroom.needs import Answer, Need
from elbowroom.read.sources import Registry, SourceRow
from elbowroom.records import Drop, Learned, Mode, Packed, Principal
from elbowroom_proxy.cli.pack import OFFLINE_SECRET, Offline
from elbowroom_proxy.cli.replay import again_as
from elbowroom_proxy.replaying import Again, Asked, who_accepts
from elbowroom_proxy.settings import Keys, Settings, keys, load
from elbowroom_proxy.sinks.line import encode
from tests.planted import planted

ASKED: dict[str, Any] = {
    "model": "demo-small",
    "messages": [{"role": "user", "content": "How loud is the FH-300?"}],
    "documents": [
        {"id": "loud", "text": "The FH-300 is heard with 41 dB.", "score": 0.9},
        {"id": "copy", "text": "The FH-300 is heard with 41 dB!", "score": 0.8},
        {"id": "motor", "text": "The FH-300 needs the fan motor M-7.", "score": 0.4},
    ],
}
BODY = json.dumps(ASKED).encode()


def settings_here() -> Settings:
    return load(environ={})


def story(body: bytes = BODY, ident: str = "aaa", **more: Any) -> dict[str, Any]:
    packed = Offline(settings_here(), None, None).pack(body).story
    return {**packed, "trace_id": ident, "time": "2026-03-01T10:00:00.000Z", "request_id": f"req_{ident}", **more}


def offline_keys(configured: Settings) -> Keys:
    return keys(structs.replace(configured.general, secret=OFFLINE_SECRET))


def never(need: Need) -> Answer:
    raise AssertionError(f"asked {need}")


def test_recorded_answers_give_the_same_bytes_and_nothing_is_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured = settings_here()
    first = Offline(configured, None, None).pack(BODY)
    again = Again(configured, offline_keys(configured), [configured.policy], never)
    outcome = again.recorded(first.story, Asked(BODY), configured.policy)
    assert isinstance(outcome, Packed)
    assert outcome.body == first.body
    facts = Facts(trace_id="", time="", upstream="demo", upstream_model="demo-small", principal=Principal())
    told = record(outcome.decision, facts)
    assert told == first.story


@pytest.mark.parametrize("mode", list(Mode))
def test_a_request_that_was_served_in_another_mode_than_its_policy_s_is_repeated_in_that(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    configured = settings_here()
    offline = Offline(configured, None, None)
    # As the key, the cohort or the switch would have it.
    offline._policy = structs.replace(configured.policy, mode=mode)
    first = offline.pack(BODY)
    again = Again(configured, offline_keys(configured), [configured.policy], never)
    told = json.loads(encode({**first.story, "trace_id": "t"}))
    assert told["mode"] == mode
    assert again.told(told, Asked(BODY)).exact


def test_what_bills_had_taught_is_part_of_the_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    again = again_as(settings_here(), [])
    taught = story(learned={"largest": 7, "bills": 3, "refused": 0})
    outcome = again.recorded(taught, Asked(BODY), settings_here().policy)
    assert outcome is not None
    assert outcome.decision is not None
    assert outcome.decision.learned == Learned(7, 3)


@pytest.mark.parametrize(
    ("time", "dropped"), [("2026-03-01T10:00:00.000Z", ["old"]), ("2025-03-01T10:00:00.000Z", []), ("", [])]
)
def test_under_a_policy_that_asks_the_time_it_is_the_records(tmp_path, monkeypatch, time, dropped):
    monkeypatch.chdir(tmp_path)
    old = {"id": "old", "text": "The FH-300 is heard with 41 dB.", "fetched_at": "2024-12-01"}
    body = json.dumps({**ASKED, "documents": [old, ASKED["documents"][2]]}).encode()
    told = json.loads(encode(story(body, time=time)))
    assert told["now"] is None  # its own policy did not ask
    policy = settings_here().policy
    fresh = structs.replace(policy, sources=Registry(sources=(SourceRow(id="old", freshness_days=365),)))
    compared = again_as(settings_here(), []).told(told, Asked(body), fresh)
    assert compared.exact
    assert [one.before.id for one in compared.changes if one.after.reason == Drop.STALE] == dropped


def test_places_of_secrets_are_recorded_and_replayed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = planted("aws_key")[0]
    body = json.dumps({**ASKED, "documents": [{"id": "a", "text": f"The FH-300 has the key {key}."}]}).encode()
    told = story(body)
    assert key not in json.dumps(told)
    again, policy = again_as(settings_here(), []), settings_here().policy
    outcome = again.recorded(told, Asked(body), policy)
    assert isinstance(outcome, Packed)
    assert b"the key [REDACTED:aws_key#1]." in outcome.body
    # A record from before anything was searched, and one of other texts, fit no question.
    for answers in (told["answers"][1:], [[[]], *told["answers"][1:]], [told["answers"][0], told["answers"][0]]):
        assert again.recorded({**told, "answers": answers}, Asked(body), policy) is None


def test_who_asked_is_recorded_with_its_rights_and_asks_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    label: dict[str, Any] = {
        "tenant": "acme",
        "label": "internal",
        "deny_groups": [],
        "visibility": "tenant",
        "expires_at": None,
    }
    documents = [{**one, "access": label} for one in ASKED["documents"]]
    documents[0] = {**documents[0], "access": {**label, "tenant": "other"}}
    body = json.dumps({**ASKED, "documents": documents}).encode()
    configured, ann = settings_here(), Principal("ann", "acme", ("hr",), "internal", keyed=True)
    first = Offline(configured, None, None, ann).pack(body)
    recorded = json.loads(encode({**first.story, "trace_id": "aaa"}))
    outcome = again_as(configured, []).recorded(recorded, Asked(body), configured.policy)
    assert isinstance(outcome, Packed)
    assert outcome.body == first.body
    assert outcome.decision.documents[0].reason == "not_permitted"
    everybody = again_as(configured, []).recorded({**recorded, "principal": None}, Asked(body), configured.policy)
    assert everybody is None or everybody.decision != outcome.decision


def test_who_accepts_which_labels_is_what_a_replay_knows_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    value = {
        "model_list": [
            {
                "model_name": name,
                "litellm_params": {"model": "demo/demo-small"},
                "model_info": {"context_window": 8_192, "max_output_tokens": 500, "accepts": ["internal"]},
            }
            for name in ("demo-small", "short")
        ],
        "reranker": {"api_base": "http://127.0.0.1:1", "shape": "tei", "accepts": ["restricted"]},
        "general_settings": {"policy": "policy.yaml"},
    }
    Path("elbowroom.yaml").write_text(json.dumps(value))
    Path("policy.yaml").write_text(json.dumps({"rerank": {"by": "http"}, "history": {"summary": {"model": "short"}}}))
    configured = load(Path("elbowroom.yaml"), environ={})
    found = who_accepts(configured, configured.policy)
    assert (found["summariser"], found["compressor"]) == (("internal",), None)
    assert found["rerankers"]["http"] == ("restricted",)
    assert "restricted" in found["rerankers"]["lexical"]
