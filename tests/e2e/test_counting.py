"""Counts, bills and providers' own counts, from a client's request to the trace, through real sockets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.proxy import Run, config
from tests.upstream import Answer, FakeUpstream, answer_json, completion

QUESTION = {"role": "user", "content": "When are refunds paid?"}
BODY = {
    "model": "gpt-4o",
    "messages": [QUESTION],
    "documents": [{"id": "r", "text": "Refunds are paid within fourteen days.", "score": 0.9}],
}


def configured(upstream: FakeUpstream, folder: Path, counting: dict[str, str], **general: Any) -> str:
    """elbowroom.yaml whose gpt-4o has a counting endpoint, beside a policy that says when it is asked."""
    policy = folder / "policy.yaml"
    policy.write_text(json.dumps({"counting": counting}))
    value = json.loads(config(upstream, policy=str(policy), **general))
    value["model_list"][0]["model_info"]["count_endpoint"] = "openai"
    return json.dumps(value)


def ask(url: str, body: dict[str, Any] = BODY) -> httpx.Response:
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=20)


def metric(url: str, name: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_a_provider_s_own_count_is_the_count(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path):
    proxy = running_proxy(configured(fake_upstream, tmp_path, {"endpoint": "always"}))
    fake_upstream.answers(answer_json({"input_tokens": 123}), answer_json(completion(prompt_tokens=123)))
    assert ask(proxy.url).status_code == 200
    asked, sent = fake_upstream.request(0), fake_upstream.request(1)
    assert asked.path == "/v1/responses/input_tokens"
    assert asked.headers["authorization"] == "Bearer upstream-key"
    assert asked.json["model"] == "gpt-4o"
    (message,) = sent.json["messages"]
    assert asked.json["input"] == [{"role": "user", "content": [{"type": "input_text", "text": message["content"]}]}]
    trace = proxy.trace()
    assert trace["counted"] == {"tokens": 123, "basis": "exact", "margin": 0}
    assert trace["count_error"] == 0
    assert [123] in trace["answers"]
    assert metric(proxy.url, 'elbowroom_count_endpoint_total{result="asked"}') == 1


@pytest.mark.parametrize(
    "broken", [answer_json({}, 500), Answer(parts=[b"<html>"]), answer_json({"input_tokens": "x"})]
)
def test_a_provider_that_does_not_say_leaves_a_bound(
    running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path, broken: Answer
):
    proxy = running_proxy(configured(fake_upstream, tmp_path, {"endpoint": "always"}))
    fake_upstream.answers(broken)
    assert ask(proxy.url).status_code == 200
    trace = proxy.trace()
    assert trace["counted"]["basis"] == "bounded"
    assert "the provider's counting endpoint could not be reached" in trace["notes"]


def test_or_a_refusal_where_the_policy_says_so(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path):
    counting = {"endpoint": "always", "on_unavailable": "refuse"}
    proxy = running_proxy(configured(fake_upstream, tmp_path, counting))
    fake_upstream.answers(answer_json({}, 500))
    answer = ask(proxy.url)
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "count_unavailable"
    assert len(fake_upstream.requests) == 1


def test_a_bill_that_differs_is_said(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream))
    fake_upstream.answers(answer_json(completion(prompt_tokens=4_000)))
    assert ask(proxy.url).status_code == 200
    assert "bill_outside_margin" in proxy.trace()["notes"]
    assert metric(proxy.url, 'elbowroom_count_error_tokens_count{basis="modelled",model="gpt-4o"}') == 1
    assert metric(proxy.url, 'elbowroom_counts_amiss_total{model="gpt-4o",why="bill_outside_margin"}') == 1


def test_a_refusal_as_too_long_widens_the_margin_of_every_instance(
    running_proxy: Run, fake_upstream: FakeUpstream, redis_url: str
):
    first = running_proxy(config(fake_upstream, redis_url=redis_url))
    error = {"code": "context_length_exceeded", "message": "... your messages resulted in 1500 tokens ..."}
    fake_upstream.answers(answer_json({"error": error}, 400))
    assert ask(first.url).status_code == 400
    refused = first.trace()
    assert "refused_as_too_long" in refused["notes"]
    ask(first.url)
    widened = {**refused["counted"], "margin": 1500 - refused["counted"]["tokens"]}
    assert first.trace(1)["counted"] == widened
    first.stop()
    second = running_proxy(config(fake_upstream, redis_url=redis_url))
    ask(second.url)
    assert second.trace()["counted"] == widened
    assert second.trace()["learned"]["refused"] == widened["margin"]


def test_a_model_that_nobody_mapped_is_seen_in_trace_and_metric(running_proxy: Run, fake_upstream: FakeUpstream):
    value = json.loads(config(fake_upstream))
    value["model_list"][0]["litellm_params"]["model"] = "openai/gpt-6"
    proxy = running_proxy(json.dumps(value))
    assert ask(proxy.url).status_code == 200
    trace = proxy.trace()
    assert trace["counted"]["basis"] == "bounded"
    assert "model_unmapped" in trace["notes"]
    assert metric(proxy.url, 'elbowroom_counts_amiss_total{model="gpt-4o",why="model_unmapped"}') == 1


HOSTILE = {
    "one letter": "a" * 1_000_000,
    "white space": " \t" * 300_000,
    "emoji": "😀" * 100_000,
    "combining marks": "e" + "\u0301" * 200_000,
    "special tokens": "<|endoftext|>" * 20_000,
    "lone surrogates": "\ud800" * 100_000,
    "mixed scripts": "中aя한" * 50_000,
    "slashes": "/\n" * 50_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_counted_or_named_never_an_accident(running_proxy: Run, fake_upstream: FakeUpstream, text: str):
    proxy = running_proxy(config(fake_upstream))
    as_document = {**BODY, "documents": [{"id": "hostile", "text": text}]}
    as_message = {**BODY, "messages": [{"role": "user", "content": text}]}
    for body in (as_document, as_message):
        answer = httpx.post(f"{proxy.url}/v1/chat/completions", content=json.dumps(body), timeout=60)
        if answer.status_code != 200:
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_more_than_can_be_counted_is_a_clear_refusal_at_once(running_proxy: Run, fake_upstream: FakeUpstream):
    proxy = running_proxy(config(fake_upstream))
    for letters, length in (("a", 4_200_000), ("abc", 3_000_000)):
        documents = [{"id": letter, "text": letter * length} for letter in letters]
        answer = ask(proxy.url, {**BODY, "documents": documents})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
        assert "can be counted" in answer.json()["error"]["message"]
    assert fake_upstream.requests == []
