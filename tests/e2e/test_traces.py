"""Records over the wire: what they say, what lies beside them, what a failing disk and a killed process leave."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from elbowroom_proxy import settings, tracing
from elbowroom_proxy.sinks import beside
from elbowroom_proxy.sinks.verify import verify
from tests.e2e.test_tenants import DENIED, KEY, body, written
from tests.proxy import Run, RunningProxy, config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT, FakeUpstream, answer_json, answer_stream, chunk, completion, streamed

ASKED = {"model": "fake", "messages": [{"role": "user", "content": "hello"}]}
SECRET = "AKIAIOSFODNN7EXAMPLE"


def configured(upstream: FakeUpstream, **traces: Any) -> str:
    return json.dumps({**json.loads(config(upstream)), "traces": traces})


def ask(proxy: RunningProxy, value: Mapping[str, Any], **headers: str) -> httpx.Response:
    return httpx.post(f"{proxy.base_url}/chat/completions", json=value, headers=headers, timeout=WAIT)


def texts(proxy: RunningProxy, story: Mapping[str, Any]) -> dict[str, Any] | None:
    """The captured texts of a record."""
    secret = settings.keys(proxy.settings.general).hash
    keys = tracing.kept_keys(proxy.traces_folder, story["hash_key_id"], secret)
    return beside.capture(proxy.traces_folder, story, keys.texts) if keys is not None else None


# --- what a record says -----------------------------------------------------------------------------------------------


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def call(name: str) -> dict[str, Any]:
    return {"index": 0, "id": "c2", "type": "function", "function": {"name": name, "arguments": "{}"}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_record_answers_what_a_reviewer_asks(upstream: FakeUpstream, running_proxy: Run, stream: bool):
    proxy = running_proxy(configured(upstream))
    whole = completion("", tool_calls=[{k: v for k, v in call("refund").items() if k != "index"}])
    upstream.answers(
        answer_stream(chunk({"tool_calls": [call("refund")]}), chunk(finish="tool_calls"))
        if stream
        else answer_json(whole)
    )
    asked = {
        **ASKED,
        "stream": stream,
        "messages": [
            {"role": "system", "content": f"Be kind, and never say {SECRET}."},
            *ASKED["messages"],
            {"role": "assistant", "content": None, "tool_calls": [{**call("search"), "id": "c1"}]},
            {"role": "tool", "tool_call_id": "c1", "content": "the order was paid"},
        ],
        "tools": [function("search"), function("refund")],
    }
    assert ask(proxy, asked).status_code == 200
    story = proxy.trace()
    assert story["version"] == 2
    assert story["counter"] == "openai_chat gpt-4o o200k_base"
    assert story["tools"] == {"requested": ["search", "refund"], "admitted": ["search", "refund"], "removed": []}
    (since,) = story["results_since"]
    assert (since["message"], since["tool"], since["followed_by"], since["answer"]) == (3, "search", ["refund"], True)
    (instruction,) = story["instructions"]
    assert (instruction["message"], instruction["role"]) == (0, "system")
    kept = beside.instruction(proxy.traces_folder, instruction["digest"])
    assert kept == "Be kind, and never say [REDACTED:aws_key#1]."
    policy = beside.policy(proxy.traces_folder, story["policy"]["digest"])
    assert policy == proxy.settings.policy
    assert story["captured"] is None


def test_who_took_a_tool_away_is_said(upstream: FakeUpstream, running_proxy: Run, tmp_path: Path):
    (tmp_path / "policy.yaml").write_text("tools_allow: [search]")
    proxy = running_proxy(config(upstream, policy=str(tmp_path / "policy.yaml")))
    upstream.answers(answer_json(completion("fine")))
    assert ask(proxy, {**ASKED, "tools": [function("search"), function("mail")]}).status_code == 200
    assert proxy.trace()["tools"]["removed"] == [{"name": "mail", "by": ["policy"]}]


# --- captured texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", ["redacted", "full"])
def test_captured_texts_hold_nothing_that_may_not_be_seen(
    upstream: FakeUpstream, running_proxy: Run, tmp_path: Path, capture: str
):
    full = {"full": {"reason": "incident 4711", "until": "2999-01-01", "tenants": ["acme"]}}
    value = json.loads(written(tmp_path, upstream))
    proxy = running_proxy(json.dumps({**value, "traces": {"capture": capture, **(full if capture == "full" else {})}}))
    said = {**body(), "user": f"my key is {SECRET}"}
    upstream.answers(answer_json(completion("Near the river. [S1]")), streamed("Near ", "the river. [S1]"))
    for stream in (False, True):
        assert ask(proxy, {**said, "stream": stream}, authorization=f"Bearer {KEY}").status_code == 200
    wait_until(lambda: len(proxy.traces()) == 2)
    for story in proxy.traces():
        kept = texts(proxy, story)
        assert kept is not None
        assert "canary" not in json.dumps(kept)
        assert kept["answer"] == "Near the river. [S1]"
        assert "near the river" in kept["body"]["documents"][-1]["text"]
        assert (SECRET in kept["body"]["user"]) is (capture == "full")
        assert (kept["redacted"], kept["hidden"]) == (capture == "redacted", len(DENIED) + 2)
        assert story["captured"]["kept"] == capture
    everything = b"".join(path.read_bytes() for path in proxy.traces_folder.rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    assert b"near the river" not in everything


def test_texts_of_a_tenant_that_did_not_agree_are_not_kept(upstream: FakeUpstream, running_proxy: Run):
    full = {"reason": "incident 4711", "until": "2999-01-01", "tenants": ["acme"]}
    proxy = running_proxy(configured(upstream, capture="full", full=full))
    upstream.answers(answer_json(completion("fine")))
    assert ask(proxy, ASKED).status_code == 200
    assert proxy.trace()["captured"] is None
    assert not (proxy.traces_folder / "captures").exists()


def test_a_destroyed_key_takes_the_texts_and_the_meaning_of_hashes_with_it(upstream: FakeUpstream, running_proxy: Run):
    proxy = running_proxy(configured(upstream, capture="redacted", hash_key_id="march"))
    upstream.answers(answer_json(completion("fine")))
    assert ask(proxy, ASKED).status_code == 200
    story = proxy.trace()
    assert story["hash_key_id"] == "march"
    wait_until(lambda: texts(proxy, story) is not None)
    proxy.stop()
    (proxy.traces_folder / "keys" / "march").unlink()
    assert texts(proxy, story) is None
    assert verify(proxy.traces_folder, settings.keys(proxy.settings.general).chain).findings == ()


# --- samples, and records that must be there --------------------------------------------------------------------------


def test_a_sample_leaves_out_what_is_not_remarkable(upstream: FakeUpstream, running_proxy: Run):
    proxy = running_proxy(configured(upstream, sample=0.0))
    upstream.answers(answer_json(completion("fine")), answer_json({"error": {"message": "no"}}, status=500))
    assert [ask(proxy, ASKED).status_code for _ in range(2)] == [200, 500]
    assert proxy.trace()["status"] == 500
    proxy.stop()
    assert [story["status"] for story in proxy.traces()] == [500]


def test_a_request_that_must_be_recorded_is_recorded_before_it_leaves(upstream: FakeUpstream, running_proxy: Run):
    proxy = running_proxy(configured(upstream, on_trace_failure="reject"))
    gate = upstream.gate()
    upstream.answers(answer_stream(chunk({"content": "a"}), gate, chunk(finish="stop")))
    url, asked = f"{proxy.base_url}/chat/completions", {**ASKED, "stream": True}
    with httpx.stream("POST", url, json=asked, timeout=WAIT) as got:
        (file,) = (proxy.traces_folder / "intents").glob("*.jsonl")
        (intent,) = map(json.loads, file.read_text().splitlines())
        assert intent["kind"] == "intent"
        assert intent["trace_id"] == got.headers["x-elbowroom-trace-id"]
        assert proxy.traces() == []
        gate.open()
        got.read()
    assert proxy.trace()["trace_id"] == intent["trace_id"]
    proxy.stop()
    verdict = verify(proxy.traces_folder, settings.keys(proxy.settings.general).chain)
    assert (verdict.findings, verdict.intents, verdict.unfinished) == ((), 1, 0)


def test_a_request_that_cannot_be_recorded_is_refused_and_never_leaves(upstream: FakeUpstream, running_proxy: Run):
    proxy = running_proxy(configured(upstream, on_trace_failure="reject"))
    (proxy.traces_folder / "intents").write_text("in the way of the folder")
    answer = ask(proxy, ASKED)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "trace_unavailable"
    assert upstream.requests == []
    assert proxy.trace()["error"]["code"] == "trace_unavailable"


def test_a_request_that_cannot_be_recorded_is_served_where_nobody_says_otherwise(
    upstream: FakeUpstream, running_proxy: Run
):
    proxy = running_proxy(configured(upstream))
    (proxy.traces_folder / "heads").write_text("in the way of the folder")
    upstream.answers(answer_json(completion("fine")))
    assert ask(proxy, ASKED).status_code == 200
    wait_until(lambda: proxy.service.sink.lost == 1)
    assert "elbowroom_traces_unwritten_total 1.0" in httpx.get(f"{proxy.url}/metrics", timeout=WAIT).text


# --- several processes, one of them killed ----------------------------------------------------------------------------


def test_a_folder_of_two_processes_is_proved_though_one_was_killed(upstream: FakeUpstream, tmp_path: Path):
    upstream.answers(*(answer_json(completion("fine")) for _ in range(4)))
    traces, file = tmp_path / "traces", tmp_path / "elbowroom.yaml"
    file.write_text(config(upstream, traces=str(traces)))
    key = settings.keys(settings.load(file, environ={}).general).chain

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in traces.glob("*.jsonl"))

    with Elbowroom(tmp_path, "--config", str(file)) as one, Elbowroom(tmp_path, "--config", str(file)) as other:
        for served in (one, other, one):
            httpx.post(f"{served.base_url}/chat/completions", json=ASKED, timeout=WAIT)
        wait_until(lambda: lines() == 3)
        os.kill(other.pid, signal.SIGKILL)
    (dead,) = (path for path in traces.glob("*.jsonl") if path.name.split("-")[3] == str(other.pid))
    dead.write_bytes(dead.read_bytes() + b'{"version":2,"trace_id":"half of a')
    assert verify(traces, key).torn == (dead.name,)
    with Elbowroom(tmp_path, "--config", str(file)) as again:
        wait_until(lambda: any("trace_torn_line" in line for line in again.output))
        httpx.post(f"{again.base_url}/chat/completions", json=ASKED, timeout=WAIT)
        wait_until(lambda: lines() == 4)
    verdict = verify(traces, key)
    assert (verdict.findings, verdict.writers, verdict.lines, verdict.sealed) == ((), 3, 4, 4)
    assert (verdict.torn, verdict.mended) == ((), 1)
