"""What is worked out beside a request in shadow: over the wire, and where too much waits or something breaks."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs
from structlog.testing import capture_logs

from elbowroom.account.trace import Aside, Facts
from elbowroom.clean.known import Known
from elbowroom.needs import Answer, AsideNeed, NeedCounts, NeedRerank
from elbowroom.read.policy import History, Policy, Rerank, Shadow, Summaries
from elbowroom.records import Mode
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.shadow import QUEUED, SKIPPED, Proposal, Shadows
from tests.proxy import Run, RunningProxy, config, wait_until
from tests.upstream import WAIT, FakeUpstream, answer_json, answer_stream, completion, streamed
from tests.walk import TOKENS, chat, setting

DOCUMENTS = [
    {"id": f"d{at}", "text": text, "score": 1 - at / 10}
    for at, text in enumerate(("Refunds take fourteen days.", "Refunds take fourteen days.", "Parcels leave daily."))
]
QUESTION = ("user", "How long do refunds take?")
BODY = {"model": "fake", "messages": [{"role": "user", "content": QUESTION[1]}], "documents": DOCUMENTS}


class Sink:
    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []
        self.full = False

    def write(self, record: Mapping[str, Any]) -> bool:
        self.told.append(record)
        return not self.full

    async def close(self) -> None: ...


def shadows(sink: Sink, metrics: Metrics | None = None, count: Any = TOKENS.count_now, **more: Any) -> Shadows:
    return Shadows(count, Known(1 << 20), sink, metrics or Metrics(), **more)  # type: ignore[arg-type]  # no `intend`


async def nobody(need: AsideNeed, told: list[Aside]) -> Answer:
    raise AssertionError(need)


def proposal(policy: Policy | None = None, ask: Any = nobody, text: str = "") -> Proposal:
    shadow = structs.replace(policy or Policy(), mode=Mode.SHADOW)
    return Proposal(chat(QUESTION, ("user", text), QUESTION, documents=DOCUMENTS), setting(shadow), ask)


async def test_what_enforcing_would_make_of_it_is_a_record_of_its_own():
    sink = Sink()
    one = shadows(sink)
    assert one.propose(proposal(), Facts(trace_id="t", time="2026-01-01", tenant="acme")) == QUEUED
    await asyncio.sleep(0)
    await one.close()
    (told,) = sink.told
    assert (told["kind"], told["trace_id"], told["tenant"], told["mode"]) == ("shadow", "t", "acme", "enforce")
    assert told["dropped"] == {"duplicate": 1}
    assert told["counted"]["tokens"] > 0
    assert told["timings_ms"]["shadow"] > 0


async def test_it_begins_only_when_the_loop_has_had_its_turn():
    began, may = threading.Event(), threading.Event()

    def count(need: NeedCounts) -> Answer:
        began.set()
        may.wait(WAIT)
        return TOKENS.count_now(need)

    one = shadows(Sink(), count=count)
    one.propose(proposal(), Facts(trace_id="t", time=""))
    assert not began.is_set()  # what the loop is doing, sending the answer's first bytes, comes first
    await asyncio.sleep(0)
    assert await asyncio.to_thread(began.wait, WAIT)
    may.set()
    await one.close()


async def test_too_many_or_too_large_ones_are_skipped_and_counted():
    metrics, may = Metrics(), threading.Event()

    def count(need: NeedCounts) -> Answer:
        may.wait(WAIT)
        return TOKENS.count_now(need)

    one = shadows(Sink(), metrics, count, waiting=2, waiting_bytes=20_000)
    facts = Facts(trace_id="t", time="")
    assert one.propose(proposal(), facts) == QUEUED
    assert one.propose(proposal(text="word " * 5_000), facts) == SKIPPED
    assert one.propose(proposal(), facts) == QUEUED
    assert one.propose(proposal(), facts) == SKIPPED
    await asyncio.sleep(0)
    may.set()
    await one.close()
    assert b'elbowroom_shadows_total{result="skipped"} 2.0' in metrics.render()
    assert b'elbowroom_shadows_total{result="recorded"} 2.0' in metrics.render()


async def test_a_single_one_is_worked_out_however_large_it_is():
    one = shadows(Sink(), waiting_bytes=1)
    assert one.propose(proposal(), Facts(trace_id="t", time="")) == QUEUED
    await asyncio.sleep(0)
    await one.close()


async def test_what_breaks_is_logged_and_the_next_one_has_its_turn():
    sink, metrics, broken = Sink(), Metrics(), [True]

    def count(need: NeedCounts) -> Answer:
        if broken:
            broken.clear()
            raise KeyError("nobody foresaw it")
        return TOKENS.count_now(need)

    one = shadows(sink, metrics, count)
    with capture_logs() as logged:
        for ident in ("first", "second"):
            one.propose(proposal(), Facts(trace_id=ident, time=""))
        await asyncio.sleep(0)
        await one.close()
    assert [told["trace_id"] for told in sink.told] == ["second"]
    assert [line["trace_id"] for line in logged if line["event"] == "shadow"] == ["first"]
    assert b'elbowroom_shadows_total{result="failed"} 1.0' in metrics.render()


async def test_a_record_that_finds_the_queue_full_is_counted():
    sink, metrics = Sink(), Metrics()
    sink.full = True
    one = shadows(sink, metrics)
    one.propose(proposal(), Facts(trace_id="t", time=""))
    await asyncio.sleep(0)
    await one.close()
    assert b"elbowroom_traces_lost_total 1.0" in metrics.render()


async def test_what_would_be_refused_says_so():
    sink = Sink()
    refusing = Policy(rerank=Rerank("http", on_failure="refuse"))
    one = shadows(sink)
    one.propose(proposal(refusing), Facts(trace_id="t", time=""))
    await asyncio.sleep(0)
    await one.close()
    assert (sink.told[0]["status"], sink.told[0]["error"]["code"]) == (503, "rerank_unavailable")
    assert "not asked in shadow: rerank" in sink.told[0]["notes"]


@pytest.mark.parametrize(
    ("by", "external", "asked"), [("http", False, False), ("http", True, True), ("lexical", False, True)]
)
async def test_nobody_outside_is_asked_unless_the_policy_says_so(by: str, external: bool, asked: bool):
    heard: list[AsideNeed] = []

    async def ask(need: AsideNeed, told: list[Aside]) -> Answer:
        assert isinstance(need, NeedRerank)
        heard.append(need)
        told.append(Aside("rerank", need.by))
        return tuple(range(len(need.texts)))

    sink, under_way = Sink(), set[asyncio.Task[Any]]()
    one = shadows(sink, free=frozenset({"lexical"}))
    made = structs.replace(proposal(Policy(rerank=Rerank(by), shadow=Shadow(external)), ask), work=under_way.add)
    one.propose(made, Facts(trace_id="t", time=""))
    assert bool(under_way) is external  # until it has asked, whom it asks is not closed
    await asyncio.wait_for(asyncio.gather(*under_way), WAIT)
    assert bool(sink.told) >= external
    await asyncio.sleep(0)
    await one.close()
    assert bool(heard) is asked
    assert [aside["by"] for aside in sink.told[0]["asides"]] == ([by] if asked else [])


async def test_who_closes_waits_for_nobody_outside():
    sink = Sink()
    one = shadows(sink)
    one.propose(proposal(Policy(rerank=Rerank("http"), shadow=Shadow(external=True))), Facts(trace_id="t", time=""))
    await asyncio.sleep(0)
    await one.close()
    assert "not asked in shadow: rerank" in sink.told[0]["notes"]


async def test_what_was_not_asked_is_named():
    sink = Sink()
    one = shadows(sink)
    policy = Policy(mode=Mode.SHADOW, input_limit=1_500, history=History(share=0.4, summary=Summaries(model="m")))
    request = chat(
        QUESTION, ("assistant", "Word " * 900), QUESTION, ("assistant", "Yes."), QUESTION, documents=DOCUMENTS
    )
    one.propose(Proposal(request, setting(policy), nobody), Facts(trace_id="t", time=""))
    await asyncio.sleep(0)
    await one.close()
    assert "not asked in shadow: summary" in sink.told[0]["notes"]


# --- over the wire ---


def started(run: Run, upstream: FakeUpstream, tmp_path: Path, text: str = "mode: shadow\n") -> RunningProxy:
    (tmp_path / "policy.yaml").write_text(text)
    return run(config(upstream, policy=str(tmp_path / "policy.yaml")))


def both(proxy: RunningProxy) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one request's record and the one of its shadow."""
    wait_until(lambda: len(proxy.traces()) == 2)
    first, second = sorted(proxy.traces(), key=lambda one: one.get("kind") == "shadow")
    assert first["trace_id"] == second["trace_id"]
    return first, second


def test_a_reload_closes_nobody_whom_a_shadow_still_asks(
    running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path
):
    policy = tmp_path / "policy.yaml"
    policy.write_text("mode: shadow\nrerank: {by: http}\nshadow: {external: true}\n")
    value = json.loads(config(fake_upstream, policy=str(policy)))
    value["reranker"] = {"api_base": fake_upstream.url, "shape": "tei", "timeout": WAIT}
    proxy = running_proxy(json.dumps(value))
    gate, scores = fake_upstream.gate(), [{"index": at, "score": 0.5} for at in range(len(DOCUMENTS))]
    scored = answer_json(scores)
    late = replace(scored, parts=[gate, *scored.parts])
    fake_upstream.answers(answer_json(completion("Fine.")), late)
    assert httpx.post(f"{proxy.base_url}/chat/completions", json=BODY, timeout=WAIT).status_code == 200
    fake_upstream.request(1)  # the proposal asks for its order
    service = proxy.service
    assert service.flow.working
    asked, value["reranker"]["shape"] = service.flow, "cohere"
    value["general_settings"]["traces"] = str(proxy.traces_folder)
    (proxy.traces_folder.parent / "elbowroom.yaml").write_text(json.dumps(value))
    wait_until(lambda: service.flow is not asked)
    assert service._retiring
    gate.open()
    wait_until(lambda: not service._retiring)
    _, shadow = both(proxy)
    assert [(one["by"], one["failed"]) for one in shadow["asides"]] == [("http", "")]


@pytest.mark.parametrize("stream", [False, True])
def test_the_baseline_is_sent_and_the_proposal_recorded(
    running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path, stream: bool
):
    proxy = started(running_proxy, fake_upstream, tmp_path)
    fake_upstream.answers(streamed("Fine.") if stream else answer_json(completion("Fine.")))
    answer = httpx.post(f"{proxy.base_url}/chat/completions", json={**BODY, "stream": stream}, timeout=WAIT)
    assert (answer.status_code, answer.headers["x-elbowroom-mode"]) == (200, "shadow")
    assert answer.headers["x-elbowroom-admitted"] == "3"
    assert fake_upstream.request().body.count(b"Refunds take fourteen days.") == 2
    request, shadow = both(proxy)
    assert (request["mode"], request["shadow"], request["dropped"]) == ("shadow", "queued", {})
    assert (shadow["kind"], shadow["mode"], shadow["dropped"]) == ("shadow", "enforce", {"duplicate": 1})
    assert shadow["evidence_tokens"] < request["evidence_tokens"]
    # What was answered and billed is the request's: the proposal was never sent.
    assert stream or request["billed"] is not None
    assert [shadow[name] for name in ("status", "billed", "count_error", "cited", "settlement")] == [None] * 5


def test_a_stream_is_not_kept_waiting_for_it(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path):
    proxy = started(running_proxy, fake_upstream, tmp_path)
    gate, whole = fake_upstream.gate(), streamed("Fine.")
    fake_upstream.answers(answer_stream(*whole.parts[:1], gate, *whole.parts[1:]))
    url = f"{proxy.base_url}/chat/completions"
    with httpx.stream("POST", url, json={**BODY, "stream": True}, timeout=WAIT) as answer:
        wait_until(lambda: len(proxy.traces()) == 1)  # the shadow's: the answer has begun, and is far from its end
        assert proxy.traces()[0]["kind"] == "shadow"
        gate.open()
        answer.read()
    assert both(proxy)[0]["finish_reason"] == "stop"


@pytest.mark.parametrize("mode", ["passthrough", "enforce"])
def test_no_other_mode_has_a_shadow(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path, mode: str):
    proxy = started(running_proxy, fake_upstream, tmp_path, f"mode: {mode}\n")
    fake_upstream.answers(answer_json(completion("Fine.")))
    httpx.post(f"{proxy.base_url}/chat/completions", json=BODY, timeout=WAIT)
    assert proxy.trace()["shadow"] is None
    proxy.stop()
    assert len(proxy.traces()) == 1


def test_a_cohort_is_enforced_and_the_others_are_in_shadow(
    running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path
):
    proxy = started(running_proxy, fake_upstream, tmp_path, "rollout: {enforce_percent: 50}\n")
    names = [f"c{at}" for at in range(12)]
    fake_upstream.answers(*(answer_json(completion("Fine.")) for _ in 2 * names))
    modes: list[dict[str, str]] = [{}, {}]
    for found in modes:
        for name in names:
            asked = {**BODY, "context": {"conversation_id": name}}
            answer = httpx.post(f"{proxy.base_url}/chat/completions", content=json.dumps(asked), timeout=WAIT)
            found[name] = answer.headers["x-elbowroom-mode"]
    assert modes[0] == modes[1]
    assert set(modes[0].values()) == {"enforce", "shadow"}
    proxy.stop()
    for record in proxy.traces():
        if record.get("kind") != "shadow":
            assert record["cohort"]["inside"] is (modes[0][record["conversation_id"]] == "enforce")
