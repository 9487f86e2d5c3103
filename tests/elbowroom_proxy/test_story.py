"""What is gathered of a request, and that it is told once, with the count or without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from elbowroom.errors import CountUnavailable
from elbowroom.records import (
    Basis,
    Classified,
    Context,
    Count,
    Decision,
    Drop,
    Fate,
    Mode,
    Model,
    Principal,
    Request,
)
from elbowroom.write.citations import Citation
from elbowroom.write.links import Link
from elbowroom_proxy.calibration import Calibration
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.ports import Texts
from elbowroom_proxy.story import Story
from elbowroom_proxy.whole import Whole

MODEL = Model("m", "openai", "gpt-4o", 8192, 1024, "openai_chat", "gpt-4o", "o200k_base")
COUNT = Count(40, Basis.MODELLED)
USAGE = {
    "prompt_tokens": 42,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 16},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


class Sink:
    def __init__(self, *, full: bool = False) -> None:
        self.records: list[Mapping[str, Any]] = []
        self.texts: list[Texts | None] = []
        self.intents: list[Mapping[str, Any]] = []
        self.full = full
        self.lost = self.waiting = 0

    def write(self, record: Mapping[str, Any], texts: Texts | None = None) -> bool:
        self.records.append(record)
        self.texts.append(texts)
        return not self.full

    async def intend(self, intent: Mapping[str, Any]) -> None:
        self.intents.append(intent)

    async def healthy(self) -> bool:
        return not self.full

    async def close(self) -> None:
        """Keeps everything."""


def decision(counted: Count | None = COUNT) -> Decision:
    return Decision(
        mode=Mode.ENFORCE,
        model="m",
        policy_id="default",
        policy_version="1",
        policy_digest="",
        query_class=Classified("general", "default"),
        window=None,
        counted=counted,
        documents=(
            Fate(0, "a", "admitted", label="S1", tokens=10),
            Fate(1, "b", "admitted", label="S2", tokens=10),
            Fate(2, "denied", "dropped", reason=Drop.NOT_PERMITTED),
        ),
        reranked_count=3,
        evidence_tokens=20,
        tool_results=(),
        history_dropped=(),
        examples_dropped=(),
        edits=(),
        notes=("long instructions",),
        answers=((1, 2),),
    )


def request(*, explain: bool = False) -> Request:
    return Request(b"", {}, "m", (), (), True, Context(conversation_id="c-1", explain=explain), {}, stream=True)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def story(metrics, sink) -> Story:
    return Story({"x-client-request-id": "theirs"}, metrics, sink)


def test_a_whole_story(story, sink):
    story.principal, story.request, story.model, story.decision = Principal(tenant="acme"), request(), MODEL, decision()
    story.notes.add("count_cache_degraded")
    story.mark("overhead")
    story.mark("overhead")
    story.status = 200
    story.said = Whole(
        b"",
        USAGE,
        ("stop",),
        citations=(
            Citation("S1", 0, 4, "verified"),
            Citation("S1", 5, 9, "verified"),
            Citation("S9", 9, 13, "invented"),
        ),
        invented=("S9", "S9"),
        foreign_links=(Link("image", "evil.example", 0, 9), Link("link", "evil.example", 9, 12)),
        calls_refused=2,
        calls_tainted=1,
    )
    with capture_logs() as logged:
        story.end()
        story.end()
    (record,) = json.loads(json.dumps(sink.records))
    assert record["trace_id"] == story.trace_id != Story({}, Metrics(), sink).trace_id
    assert (record["client_request_id"], record["conversation_id"], record["tenant"]) == ("theirs", "c-1", "acme")
    assert (record["upstream"], record["upstream_model"], record["stream"]) == ("openai", "gpt-4o", True)
    assert record["billed"] == {
        "prompt_tokens": 42,
        "completion_tokens": 5,
        "cached_tokens": 16,
        "reasoning_tokens": 3,
        "cache_write_tokens": 0,
    }
    assert (record["counted"]["tokens"], record["count_error"]) == (40, 2)
    assert record["cited"] == {"verified": ["S1"], "invented": ["S9"], "uncited": ["S2"]}
    assert record["links_flagged"] == {"images": 1, "links": 1}
    assert (record["calls_refused"], record["calls_tainted"]) == (2, 1)
    assert "evil" not in json.dumps(record)
    assert record["notes"] == ["long instructions", "bill_outside_margin", "count_cache_degraded"]
    assert set(record["timings_ms"]) == {"overhead", "total"}
    warning, line = logged
    assert (warning["event"], warning["counted"], warning["billed"]) == ("count", 40, 42)
    assert (line["event"], line["status"], line["admitted"], line["billed"]) == ("request", 200, 2, 42)


def test_a_story_that_ended_before_it_began(story, sink, metrics):
    story.fail(413, "request_too_large", "too large")
    story.fail(500, "internal_error", "and then")
    story.end()
    (record,) = sink.records
    assert (record["status"], record["error"]) == (
        413,
        {"code": "request_too_large", "message": "too large", "param": None},
    )
    assert (record["model"], record["upstream"], record["subject"]) == (None, None, None)
    assert metrics.open == 0


def test_an_answer_without_evidence_has_no_citations_to_check(story, sink):
    story.said = Whole(b"", {"prompt_tokens": "many"})
    story.end()
    assert (sink.records[0]["cited"], sink.records[0]["billed"]) == (None, None)


def test_details_that_are_no_numbers_count_as_none(story, sink):
    story.said = Whole(b"", {"prompt_tokens": 1, "completion_tokens": None, "prompt_tokens_details": [1]})
    story.end()
    assert sink.records[0]["billed"] == {
        "prompt_tokens": 1,
        "completion_tokens": 0,
        "cached_tokens": 0,
        "reasoning_tokens": 0,
        "cache_write_tokens": 0,
    }


def test_a_record_that_found_the_queue_full_is_counted(metrics):
    with capture_logs() as logged:
        Story({}, metrics, Sink(full=True)).end()
    assert [one["traced"] for one in logged if one["event"] == "request"] == [False]
    assert metrics.registry.get_sample_value("elbowroom_traces_lost_total") == 1


async def test_a_count_that_is_under_way_is_waited_for(story, sink):
    counted = asyncio.Event()

    async def count() -> Count:
        await counted.wait()
        return COUNT

    story.decision = decision(None)
    story.counting = asyncio.create_task(count())
    assert "x-elbowroom-prompt-tokens" not in story.headers()
    story.end()
    assert sink.records == []
    counted.set()
    await story.counting
    await asyncio.sleep(0)
    assert sink.records[0]["counted"] == {"tokens": 40, "basis": "modelled", "margin": 0}
    headers = story.headers()
    assert (headers["x-elbowroom-prompt-tokens"], headers["x-elbowroom-count-basis"]) == ("40", "modelled")
    assert (headers["x-elbowroom-trace-id"], headers["x-request-id"]) == (story.trace_id, story.request_id)


async def test_a_count_that_failed_is_no_number_and_says_so(story, sink):
    async def count() -> Count:
        raise CountUnavailable("no vocabulary")

    story.decision = decision(None)
    story.counting = asyncio.create_task(count())
    await asyncio.wait({story.counting})
    story.end()
    assert sink.records[0]["counted"] is None
    assert "not_counted" in sink.records[0]["notes"]


def test_a_report_is_for_who_asked_and_names_nothing_that_was_denied(story):
    assert story.report() is None
    story.request = request()
    assert story.report() is None
    story.request, story.decision = request(explain=True), decision()
    report = story.report()
    assert report is not None
    assert [one["id"] for one in json.loads(report)["documents"]] == ["a", "b"]
    assert b"denied" not in report


def test_half_a_character_in_a_tools_name_is_reported_as_it_is(story):
    story.request = request(explain=True)
    story.decision = msgspec.structs.replace(decision(), tools_removed=("pay\ud83d",))
    assert json.loads(story.report())["tools_removed"] == ["pay\ud83d"]


def test_times_begin_when_the_request_is_read(story, sink):
    story.restart()
    story.end()
    assert sink.records[0]["timings_ms"]["total"] >= 0


# --- counts and bills -------------------------------------------------------------------------------------------------


def answered(metrics: Metrics, sink: Sink, calibration: Calibration, counted: Count, billed: int) -> Mapping[str, Any]:
    story = Story({}, metrics, sink, calibration)
    story.model, story.decision, story.status = MODEL, msgspec.structs.replace(decision(counted), shape="plain/4k"), 200
    story.said = Whole(b"", usage={"prompt_tokens": billed})
    story.end()
    return sink.records[-1]


async def test_a_bill_teaches_its_shape_and_one_outside_the_margin_is_said(metrics, sink):
    calibration = Calibration()
    counted = Count(40, Basis.CALIBRATED, 5)
    with capture_logs() as logs:
        assert "bill_outside_margin" not in answered(metrics, sink, calibration, counted, 45)["notes"]
        assert "bill_outside_margin" in answered(metrics, sink, calibration, counted, 46)["notes"]
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert (warning["event"], warning["shape"], warning["billed"]) == ("count", "plain/4k", 46)
    assert calibration.learned(MODEL)["plain/4k"].largest == 6


async def test_a_refusal_as_too_long_is_said_and_learned(metrics, sink):
    calibration = Calibration()
    story = Story({}, metrics, sink, calibration)
    story.model, story.decision, story.status = MODEL, decision(), 400
    story.refusal = b'{"error": {"code": "context_length_exceeded", "message": "... resulted in 90 tokens ..."}}'
    story.end()
    assert "refused_as_too_long" in sink.records[0]["notes"]
    assert calibration.learned(MODEL)[""].refused == 50


async def test_another_error_teaches_nothing(metrics, sink):
    calibration = Calibration()
    story = Story({}, metrics, sink, calibration)
    story.model, story.decision, story.status, story.refusal = MODEL, decision(), 400, b'{"error": {"message": "no"}}'
    story.end()
    assert calibration.learned(MODEL) == {}


def test_an_unmapped_model_is_said(story, sink):
    story.model = msgspec.structs.replace(MODEL, known=False)
    story.end()
    assert "model_unmapped" in sink.records[0]["notes"]
