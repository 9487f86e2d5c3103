"""What /metrics shows.

Knows: every metric's name, unit and labels. Labels are bounded: models, classes and reasons that configuration or code
names; never a key, a tenant, an id or anything else that a client can make up. Counters that are watched for their
first step are there from the start, at 0.
Does not know: when something happens, who scrapes it, or how many workers there are; the library adds those up.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from elbowroom_proxy.holdmetrics import HoldMetrics

TOGETHER = "PROMETHEUS_MULTIPROC_DIR"  # the environment's name for the folder in which workers add up
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MILLISECONDS = (0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
TOKENS = (0, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
# Notes in a trace record that are counted.
OUTSIDE = "bill_outside_margin"
TOO_LONG = "refused_as_too_long"
UNMAPPED = "model_unmapped"
DIFFERENCE = (-256, -64, -16, -4, -1, 0, 1, 4, 16, 64, 256)


class Texts(Protocol):
    """Counters that somebody else keeps; they only grow."""

    texts_remembered: int
    texts_shared: int
    texts_encoded: int
    degraded: int


class Questions(Protocol):
    """Counters of questions to providers; they only grow."""

    asked: int
    remembered: int
    failed: int


class Sink(Protocol):
    """Where records go."""

    @property
    def lost(self) -> int: ...
    @property
    def waiting(self) -> int: ...


class Ledger(Protocol):
    """Where sums are kept."""

    def faults(self) -> Sequence[str]: ...


class _Watched(NamedTuple):
    """A number that somebody else keeps, and the counter that follows it."""

    counter: Counter
    kept_by: object
    name: str
    shown: list[float]  # what the counter has of it


class Metrics:
    """One registry a process, so that two apps in one process do not add up."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "elbowroom_requests",
            "Chat requests by how they ended",
            ["model", "query_class", "status"],
            registry=registry,
        )
        self.open = 0  # requests being worked on: a plain number, since every request changes it twice
        working = Gauge(
            "elbowroom_requests_open", "Chat requests being worked on", registry=registry, multiprocess_mode="livesum"
        )
        self.overhead = Histogram(
            "elbowroom_overhead_seconds",
            "From the whole request read to the packed one sent",
            buckets=MILLISECONDS,
            registry=registry,
        )
        self.duration = Histogram(
            "elbowroom_request_seconds",
            "From the whole request read to the last byte",
            buckets=SECONDS,
            registry=registry,
        )
        self.passages = Counter(
            "elbowroom_passages", "Tagged documents by what became of them", ["decision", "reason"], registry=registry
        )
        self.evidence = Histogram(
            "elbowroom_evidence_tokens", "Tokens of evidence in a packed request", buckets=TOKENS, registry=registry
        )
        self.count_error = Histogram(
            "elbowroom_count_error_tokens",
            "Billed minus counted prompt tokens, by how the count was known",
            ["model", "basis"],
            buckets=DIFFERENCE,
            registry=registry,
        )
        self.prompt_tokens = Counter(
            "elbowroom_prompt_tokens",
            "Prompt tokens of answers whose bill is known: as counted, and as billed",
            ["model", "basis", "what"],
            registry=registry,
        )
        self.counts_amiss = Counter(
            "elbowroom_counts_amiss",
            "Requests whose count did not hold or could not be better than a bound",
            ["model", "why"],
            registry=registry,
        )
        self.citations = Counter(
            "elbowroom_citations",
            "Labels cited in answers, by whether they were admitted",
            ["status"],
            registry=registry,
        )
        self.links = Counter(
            "elbowroom_links_flagged",
            "Links in answers to hosts that nobody trusted named",
            ["kind"],
            registry=registry,
        )
        self.calls = Counter(
            "elbowroom_calls_flagged", "Calls in answers that were not handed on, or were tainted", ["why"],
            registry=registry,
        )  # fmt: skip
        for kind in ("images", "links"):
            self.links.labels(kind)
        for why in ("refused", "tainted"):
            self.calls.labels(why)
        self.shadows = Counter(
            "elbowroom_shadows", "Requests in shadow by what became of the proposal", ["result"], registry=registry
        )
        for result in ("recorded", "skipped", "failed"):
            self.shadows.labels(result)
        self.killed = Gauge(
            "elbowroom_killed", "1 while every request is served with the baseline", registry=registry,
            multiprocess_mode="livemax",
        )  # fmt: skip
        self.reload_good = Gauge(
            "elbowroom_config_reload_good", "1 where the files as they are now are in force", registry=registry,
            multiprocess_mode="livemin",
        )  # fmt: skip
        self.reload_time = Gauge(
            "elbowroom_config_reload_timestamp_seconds", "When a configuration was last put in force",
            registry=registry, multiprocess_mode="livemin",
        )  # fmt: skip
        self.traces_lost = Counter(
            "elbowroom_traces_lost", "Trace records that found the queue full", registry=registry
        )
        self.holds = HoldMetrics(registry)

        # To look a child up costs the library more than to count.
        self._ended = cache(self.requests.labels)
        self._watched: list[_Watched] = []
        # The same, of numbers that fall as well.
        self._gauged: list[tuple[Gauge, Callable[[], float]]] = [(working, lambda: self.open)]

    def watch(self, tokens: Texts) -> None:
        """Shows those counters too."""
        texts = Counter("elbowroom_texts", "Texts by where their tokens were known", ["found"], registry=self.registry)
        for found, name in (
            ("memory", "texts_remembered"), ("shared", "texts_shared"), ("nowhere", "texts_encoded"),
        ):  # fmt: skip
            self._follow(texts.labels(found), tokens, name)
        degraded = Counter(
            "elbowroom_count_cache_degraded", "Requests counted without the shared store", registry=self.registry
        )
        self._follow(degraded, tokens, "degraded")

    def watch_endpoints(self, counts: Questions) -> None:
        """Shows those counters too."""
        told = Counter(
            "elbowroom_count_endpoint", "Prompts to be counted by providers", ["result"], registry=self.registry
        )
        for result in ("asked", "remembered", "failed"):
            self._follow(told.labels(result), counts, result)

    def watch_sink(self, sink: Sink) -> None:
        """Shows how the sink of records is."""
        lost = Counter("elbowroom_traces_unwritten", "Trace records that the disk did not take", registry=self.registry)
        self._follow(lost, sink, "lost")
        waiting = Gauge(
            "elbowroom_traces_waiting",
            "Trace records that wait for the disk",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._gauged.append((waiting, lambda: sink.waiting))

    def watch_ledger(self, ledger: Ledger) -> None:
        """Shows in how many ways the ledger is not as it should be; /readyz has them in words."""
        faults = Gauge(
            "elbowroom_ledger_faults",
            "What is wrong with the ledger, in number",
            registry=self.registry,
            multiprocess_mode="livemax",
        )
        self._gauged.append((faults, lambda: len(ledger.faults())))

    def render(self) -> bytes:
        """Everything in the text format, of all workers where there are several."""
        self.look()
        if TOGETHER not in os.environ:
            return generate_latest(self.registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)
        return generate_latest(everybody)

    def _follow(self, counter: Counter, kept_by: object, name: str) -> None:
        self._watched.append(_Watched(counter, kept_by, name, [0.0]))

    def look(self) -> None:
        """Brings what follows somebody else's numbers up to date. Another worker shows what was seen last."""
        for one in self._watched:
            now = getattr(one.kept_by, one.name)
            if now != one.shown[0]:
                one.counter.inc(now - one.shown[0])
                one.shown[0] = now
        for gauge, number in self._gauged:
            gauge.set(number())

    def tell(self, told: Mapping[str, Any]) -> None:
        """Counts one request by its trace record."""
        self.open -= 1
        status = "disconnected" if told["disconnected"] else str(told["status"])
        self._ended(told["model"] or "", told["query_class"] or "", status).inc()
        for name, histogram in (("overhead", self.overhead), ("total", self.duration)):
            if name in told["timings_ms"]:
                histogram.observe(told["timings_ms"][name] / 1000)
        for fate in told["documents"]:
            self.passages.labels(fate["decision"], fate["reason"] or "").inc()
        if told["documents"]:
            self.evidence.observe(told["evidence_tokens"])
        if told["count_error"] is not None:
            model, basis, counted = told["model"], told["counted"]["basis"], told["counted"]["tokens"]
            self.count_error.labels(model, basis).observe(told["count_error"])
            self.prompt_tokens.labels(model, basis, "counted").inc(counted)
            self.prompt_tokens.labels(model, basis, "billed").inc(counted + told["count_error"])
        for why in (OUTSIDE, TOO_LONG, UNMAPPED):
            if why in told["notes"]:
                self.counts_amiss.labels(told["model"] or "", why).inc()
        self._tell_answer(told)

    def _tell_answer(self, told: Mapping[str, Any]) -> None:
        if told["cited"]:
            self.citations.labels("verified").inc(len(told["cited"]["verified"]))
            self.citations.labels("invented").inc(len(told["cited"]["invented"]))
        for kind, number in told["links_flagged"].items():
            if number:
                self.links.labels(kind).inc(number)
        for why in ("refused", "tainted"):
            if number := told[f"calls_{why}"]:
                self.calls.labels(why).inc(number)
