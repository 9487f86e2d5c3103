"""Too little evidence, over the wire: what goes up, what comes down, what is recorded and what is charged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.conftest import CLIENT_KEY, QUESTION, REFUNDS, record_of
from tests.proxy import RunningProxy, config
from tests.upstream import WAIT, Answer, FakeUpstream, answer_json, completion

THEN = ("scope_note", "ask_by_model", "ask_by_proxy", "parent_summary", "refuse")
CLASS = """
name: {name}
minimum: {{passages: 2}}
on_insufficient: {then}
asked_by: {by}
"""


def folder(tmp: Path, policy: str = "") -> Path:
    """A policy with one class for each way out, named after it; no question leads to any by itself."""
    (tmp / "classes").mkdir(parents=True)
    (tmp / "classes" / "general.yaml").write_text("name: general\n")
    for name in THEN:
        then, _, by = name.partition("_by_")
        then = "ask_to_narrow" if by else then
        (tmp / "classes" / f"{name}.yaml").write_text(CLASS.format(name=name, then=then, by=by or "model"))
    (tmp / "policy.yaml").write_text(policy)
    return tmp / "policy.yaml"


@pytest.fixture(scope="module")
def proxy(module_upstream: FakeUpstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    tmp = tmp_path_factory.mktemp("fallbacks")
    with RunningProxy(config(module_upstream, policy=str(folder(tmp / "policy"))), tmp) as running:
        yield running


def ask(client: openai.OpenAI, name: str, *documents: Any, **more: Any) -> Any:
    return client.chat.completions.with_raw_response.create(
        model="gpt-4o",
        messages=[QUESTION],
        extra_body={"documents": list(documents), "context": {"class": name, "explain": True}},
        **more,
    )


SAID = {
    "scope_note": "No retrieved evidence is available for this question. Say so instead of guessing.",
    "parent_summary": "No retrieved evidence is available for this question. Say so instead of guessing.",
    "ask_by_model": (
        "The retrieved evidence is not enough for this question. Do not answer it; ask the user one short question "
        "that would narrow it down."
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_the_model_is_told(client, proxy, upstream, name):
    raw = ask(client, name)
    assert raw.status_code == 200
    assert raw.headers["x-elbowroom-evidence-sufficient"] == "false"
    sent = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"{SAID[name]}\n\n{QUESTION['content']}"}]}
    assert upstream.request().json == sent
    record = record_of(proxy, raw.headers["x-request-id"])
    assert record["evidence_sufficient"] is False
    assert record["lacks"] == "no evidence was admitted"
    assert record["fallback"] == {"ask_by_model": "ask_to_narrow"}.get(name, "scope_note")
    assert record["billed"]["prompt_tokens"] == 7
    assert raw.parse().context_report["evidence_sufficient"] is False


def test_evidence_that_is_enough_is_said_to_be(client, proxy, upstream):
    raw = ask(client, "scope_note", REFUNDS, {**REFUNDS, "id": "x", "source_id": "y", "text": "Paid by transfer."})
    assert raw.headers["x-elbowroom-evidence-sufficient"] == "true"
    record = record_of(proxy, raw.headers["x-request-id"])
    assert (record["evidence_sufficient"], record["fallback"], record["lacks"]) == (True, None, "")


def test_an_untagged_request_is_neither(client, proxy, upstream):
    raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=[QUESTION])
    assert "x-elbowroom-evidence-sufficient" not in raw.headers
    assert record_of(proxy, raw.headers["x-request-id"])["evidence_sufficient"] is None


def test_the_proxy_asks_and_no_model_is_charged(client, proxy, upstream):
    raw = ask(client, "ask_by_proxy", REFUNDS)
    answer = raw.parse()
    assert upstream.requests == []
    assert answer.choices[0].message.content.endswith("?")
    assert (answer.model, answer.choices[0].finish_reason, answer.usage.total_tokens) == ("gpt-4o", "stop", 0)
    assert answer.context_report["fallback"] == "ask_to_narrow"
    record = record_of(proxy, raw.headers["x-request-id"])
    assert (record["status"], record["error"], record["upstream"]) == (200, None, None)
    assert record["billed"] == {
        "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "reasoning_tokens": 0, "cache_write_tokens": 0,
    }  # fmt: skip
    assert (record["evidence_tokens"], record["counted"], record["evidence_sufficient"]) == (0, None, False)


@pytest.mark.parametrize("asked", [False, True])
def test_and_streams_its_question(client, proxy, upstream, asked):
    more = {"stream_options": {"include_usage": True}} if asked else {}
    with client.chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "user", "content": "退款何时支付？"}],
        stream=True,
        extra_body={"documents": [], "context": {"class": "ask_by_proxy"}},
        **more,
    ) as stream:
        chunks = list(stream)
        request_id = stream.response.headers["x-request-id"]
    assert upstream.requests == []
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    assert text.endswith("？")
    assert any(one.usage for one in chunks) is asked
    record = record_of(proxy, request_id)
    assert (record["finish_reason"], record["stream"], record["billed"]["prompt_tokens"]) == ("stop", True, 0)


def test_a_refusal_names_what_is_missing_and_sends_nothing(client, proxy, upstream):
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        ask(client, "refuse", REFUNDS)
    assert upstream.requests == []
    error = refused.value
    assert (error.code, error.status_code) == ("insufficient_evidence", 422)
    assert error.response.headers["x-elbowroom-evidence-sufficient"] == "false"
    record = record_of(proxy, error.response.headers["x-request-id"])
    assert (record["status"], record["fallback"], record["billed"]) == (422, "refuse", None)
    assert record["lacks"] == "1 passages were admitted, the class needs 2"
    assert record["evidence_tokens"] == 0


def test_a_summary_stands_in_for_what_does_not_fit(module_upstream, upstream, tmp_path):
    policy = folder(tmp_path / "policy", "evidence: {ceiling: 130, min_excerpt_tokens: 100, max_passage_tokens: 120}\n")
    document = {
        "id": "long", "text": "Refunds are paid late. " + "Nobody reads that much of it. " * 80,
        "summary": "Refunds take a month.",
    }  # fmt: skip
    with (
        RunningProxy(config(module_upstream, policy=str(policy)), tmp_path) as proxy,
        openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as client,
    ):
        raw = ask(client, "parent_summary", document)
        record = record_of(proxy, raw.headers["x-request-id"])
    assert "Refunds take a month." in upstream.request().json["messages"][0]["content"]
    (told,) = record["documents"]
    assert (told["decision"], told["form"]) == ("admitted", "summary")
    assert (record["fallback"], record["evidence_sufficient"]) == ("parent_summary", False)


# --- rerankers --------------------------------------------------------------------------------------------------------

TWO = [
    {"id": "a", "source_id": "a", "text": "Parcels leave on Mondays.", "score": 0.9},
    {"id": "b", "source_id": "b", "text": "Refunds are paid within fourteen days.", "score": 0.1},
]


@pytest.fixture
def reranking(module_upstream: FakeUpstream, tmp_path: Path):
    """Runs a proxy whose policy asks a reranker on a socket of its own."""
    with FakeUpstream() as reranker:

        def run(policy: str, **row: Any) -> RunningProxy:
            value = json.loads(config(module_upstream, policy=str(folder(tmp_path / "policy", policy))))
            value["reranker"] = {"api_base": f"{reranker.url}/rerank", "shape": "cohere", **row}
            return RunningProxy(json.dumps(value), tmp_path)

        yield run, reranker


def post(proxy: RunningProxy, documents: list[dict[str, Any]]) -> Any:
    with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as client:
        return client.chat.completions.with_raw_response.create(
            model="gpt-4o", messages=[QUESTION], extra_body={"documents": documents}
        )


def test_the_reranker_s_order_cost_and_time_are_recorded(reranking, upstream):
    run, reranker = reranking
    scores = [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.8}]
    reranker.answers(answer_json({"results": scores}))
    with run("rerank: {by: http, min_score: 0.5}\n", input_cost_per_query=0.002) as proxy:
        record = record_of(proxy, post(proxy, TWO).headers["x-request-id"])
    assert reranker.request().json["documents"] == [one["text"] for one in TWO]
    assert record["reranking"] == {"by": "http", "state": "ran", "candidates": 2, "cut": 0}
    assert record["reranked_count"] == 2
    assert record["accepted_chunk_ids"] == ["b"]
    assert record["dropped"] == {"below_floor": 1}
    (aside,) = record["asides"]
    assert (aside["purpose"], aside["micro_usd"], aside["failed"]) == ("rerank", 2_000, "")
    assert aside["ms"] > 0


def test_failure_and_nothing_relevant_differ(reranking, upstream):
    run, reranker = reranking
    low = [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.2}]
    reranker.answers(answer_json({}, 500), answer_json({"results": low}))
    with run("rerank: {by: http, min_score: 0.5}\n") as proxy:
        failed = record_of(proxy, post(proxy, TWO).headers["x-request-id"])
        nothing = record_of(proxy, post(proxy, TWO).headers["x-request-id"])
    assert (failed["reranking"]["state"], nothing["reranking"]["state"]) == ("failed", "nothing_relevant")
    assert (failed["evidence_sufficient"], nothing["evidence_sufficient"]) == (True, False)
    assert any(note.startswith("degraded: the reranker") for note in failed["notes"])
    assert not any("degraded" in note for note in nothing["notes"])
    assert failed["asides"][0]["failed"] == "The reranker answered with status 500."
    assert failed["evidence_budget"] == nothing["evidence_budget"]


def test_one_that_hangs_is_not_waited_for_and_may_be_a_refusal(reranking, upstream):
    run, reranker = reranking
    gate = reranker.gate()
    reranker.answers(Answer(before=gate))
    with (
        run("rerank: {by: http, on_failure: refuse}\n", timeout=0.05) as proxy,
        pytest.raises(openai.InternalServerError) as refused,
    ):
        post(proxy, TWO)
    gate.open()
    assert (refused.value.status_code, refused.value.code) == (503, "rerank_unavailable")
    assert refused.value.response.headers["retry-after"] == "1"
    assert upstream.requests == []


def test_lexical_needs_no_entry(module_upstream, upstream, tmp_path):
    policy = folder(tmp_path / "policy", "rerank: {by: lexical}\npacker: topk\n")
    with RunningProxy(config(module_upstream, policy=str(policy)), tmp_path) as proxy:
        record = record_of(proxy, post(proxy, TWO).headers["x-request-id"])
    assert record["accepted_chunk_ids"] == ["b", "a"]
    assert record["reranking"]["by"] == "lexical"


# --- history ----------------------------------------------------------------------------------------------------------


def test_turns_that_must_go_are_summed_up_by_a_model_once(module_upstream, upstream, tmp_path):
    policy = folder(tmp_path / "policy", "history: {summary: {model: fake, max_tokens: 60}}\n")
    talk: Any = [
        {"role": role, "content": f"{role} {at} " + "word " * 150} for at in range(30) for role in ("user", "assistant")
    ]
    upstream.answers(answer_json(completion("They counted words.", prompt_tokens=900)))
    with RunningProxy(config(module_upstream, policy=str(policy), window=6_000), tmp_path) as proxy:
        with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as client:
            raws = [
                client.chat.completions.with_raw_response.create(
                    model="gpt-4o", messages=[*talk, {"role": "user", "content": f"And {again}?"}]
                )
                for again in range(2)
            ]
        first, second = (record_of(proxy, raw.headers["x-request-id"]) for raw in raws)
    summing, sent, again = (one.json for one in upstream.requests)
    assert summing["messages"][1]["content"].startswith("user: user 0 word")
    assert sent["messages"][0]["content"].startswith(
        "[Summary of the earlier conversation]\nThey counted words.\n[End of summary]\n\nuser "
    )
    assert sent["messages"][:-1] == again["messages"][:-1]
    (asked,), (remembered,) = first["asides"], second["asides"]
    assert (asked["purpose"], asked["prompt_tokens"], asked["cached"]) == ("summary", 900, False)
    assert remembered["cached"]
    assert first["history_summary"]["messages"] == len(first["history_dropped"])
    assert "history_summarised" in first["edits"]
    assert {"step": "messages_summarised", "n": len(first["history_dropped"])} in first["too_much"]
    assert "They counted" not in json.dumps(first)


def test_without_an_answer_they_go_and_it_is_recorded(module_upstream, upstream, tmp_path):
    policy = folder(tmp_path / "policy", "history: {summary: {model: fake, timeout: 0.05}}\n")
    talk: Any = [{"role": "user", "content": "word " * 3_000}, {"role": "assistant", "content": "word " * 2_500}]
    gate = upstream.gate()
    upstream.answers(Answer(before=gate))
    with RunningProxy(config(module_upstream, policy=str(policy), window=6_000), tmp_path) as proxy:
        with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as client:
            raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=[*talk, QUESTION])
        record = record_of(proxy, raw.headers["x-request-id"])
    gate.open()
    assert upstream.request(1).json["messages"] == [QUESTION]
    assert record["history_dropped"] == [0, 1]
    assert "degraded: earlier turns were dropped without a summary" in record["notes"]
    assert record["asides"][0]["failed"] == "it did not answer in time"
