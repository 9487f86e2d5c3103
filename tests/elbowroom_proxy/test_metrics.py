"""What is counted of a request, by its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elbowroom_proxy.metrics import Metrics

TOLD: dict[str, Any] = {
    "disconnected": False,
    "status": 200,
    "model": "demo-small",
    "query_class": "general",
    "timings_ms": {"overhead": 1.5, "total": 20.0},
    "documents": [
        {"decision": "admitted", "reason": None},
        {"decision": "dropped", "reason": "duplicate"},
        {"decision": "dropped", "reason": "duplicate"},
    ],
    "evidence_tokens": 300,
    "counted": {"tokens": 9, "basis": "modelled", "margin": 0},
    "count_error": -2,
    "notes": ["bill_outside_margin"],
    "cited": {"verified": ["S1"], "invented": ["S8", "S9"], "uncited": []},
    "links_flagged": {"images": 2, "links": 1},
    "calls_refused": 3,
    "calls_tainted": 1,
}


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    metrics.render()  # whoever looks sees what others keep, as it is then
    return metrics.registry.get_sample_value(name, labels)


def test_a_request_is_counted_by_its_record():
    metrics = Metrics()
    metrics.open += 1
    assert value(metrics, "elbowroom_requests_open") == 1
    metrics.tell(TOLD)
    assert value(metrics, "elbowroom_requests_open") == 0
    labels = {"model": "demo-small", "query_class": "general", "status": "200"}
    assert value(metrics, "elbowroom_requests_total", **labels) == 1
    assert value(metrics, "elbowroom_passages_total", decision="dropped", reason="duplicate") == 2
    assert value(metrics, "elbowroom_passages_total", decision="admitted", reason="") == 1
    assert value(metrics, "elbowroom_overhead_seconds_sum") == 0.0015
    assert value(metrics, "elbowroom_request_seconds_count") == 1
    assert value(metrics, "elbowroom_evidence_tokens_sum") == 300
    errors = {"model": "demo-small", "basis": "modelled"}
    assert value(metrics, "elbowroom_prompt_tokens_total", what="counted", **errors) == 9
    assert value(metrics, "elbowroom_prompt_tokens_total", what="billed", **errors) == 7
    assert value(metrics, "elbowroom_count_error_tokens_bucket", le="-4.0", **errors) == 0
    assert value(metrics, "elbowroom_count_error_tokens_bucket", le="-1.0", **errors) == 1
    assert value(metrics, "elbowroom_counts_amiss_total", model="demo-small", why="bill_outside_margin") == 1
    assert value(metrics, "elbowroom_counts_amiss_total", model="demo-small", why="refused_as_too_long") is None
    assert value(metrics, "elbowroom_citations_total", status="invented") == 2
    assert value(metrics, "elbowroom_links_flagged_total", kind="images") == 2
    assert value(metrics, "elbowroom_calls_flagged_total", why="refused") == 3
    assert value(metrics, "elbowroom_calls_flagged_total", why="tainted") == 1


def test_what_a_record_does_not_have_is_not_counted():
    metrics = Metrics()
    bare: dict[str, Any] = dict.fromkeys(("model", "query_class", "count_error", "cited"))
    bare |= {"timings_ms": {}, "documents": [], "counted": None, "notes": []}
    metrics.tell({**TOLD, **bare, "disconnected": True})
    assert value(metrics, "elbowroom_requests_total", model="", query_class="", status="disconnected") == 1
    for name in ("overhead_seconds", "request_seconds", "evidence_tokens"):
        assert value(metrics, f"elbowroom_{name}_count") == 0
    assert b"elbowroom_count_error_tokens_count" not in metrics.render()


@dataclass
class Texts:
    texts_remembered: int = 0
    texts_shared: int = 0
    texts_encoded: int = 0
    degraded: int = 0


def test_counters_of_others_are_shown_as_they_are_then():
    metrics, texts = Metrics(), Texts(texts_remembered=3)
    metrics.watch(texts)
    assert value(metrics, "elbowroom_texts_total", found="memory") == 3
    texts.texts_remembered, texts.degraded = 5, 1
    assert value(metrics, "elbowroom_texts_total", found="memory") == 5
    assert b"elbowroom_count_cache_degraded_total 1.0" in metrics.render()


@dataclass
class Questions:
    asked: int = 2
    remembered: int = 1
    failed: int = 0


def test_questions_to_providers_are_shown_by_how_they_ended():
    metrics = Metrics()
    metrics.watch_endpoints(Questions())
    assert value(metrics, "elbowroom_count_endpoint_total", result="asked") == 2
    assert value(metrics, "elbowroom_count_endpoint_total", result="failed") == 0


def test_two_services_in_one_process_do_not_add_up():
    one, other = Metrics(), Metrics()
    one.tell(TOLD)
    assert value(other, "elbowroom_request_seconds_count") == 0


class Queue:
    """A sink, as far as metrics look at it."""

    def __init__(self, lost: int, waiting: int) -> None:
        self.lost, self.waiting = lost, waiting


def test_a_sinks_queue_is_shown_as_it_is_now():
    metrics, sink = Metrics(), Queue(2, 7)
    metrics.watch_sink(sink)
    assert b"elbowroom_traces_waiting 7.0" in metrics.render()
    sink.lost, sink.waiting = 3, 0
    shown = metrics.render()
    assert b"elbowroom_traces_waiting 0.0" in shown
    assert b"elbowroom_traces_unwritten_total 3.0" in shown


def test_what_is_wrong_with_the_ledger_is_shown_in_number():
    class Ledger:
        def __init__(self) -> None:
            self.wrong: tuple[str, ...] = ("it cannot be reached", "emptied")

        def faults(self) -> tuple[str, ...]:
            return self.wrong

    metrics, ledger = Metrics(), Ledger()
    metrics.watch_ledger(ledger)
    assert value(metrics, "elbowroom_ledger_faults") == 2
    ledger.wrong = ()
    assert value(metrics, "elbowroom_ledger_faults") == 0
