from __future__ import annotations

import msgspec

from elbowroom.account.trace import VERSION, Billed, Cited, Facts, record, report
from elbowroom.records import (
    Basis,
    Classified,
    Count,
    Decision,
    Drop,
    Edit,
    Fate,
    Mode,
    Window,
)

WINDOW = Window(8_000, 8_000, 100, 0, 0, 50, 20, 10, 700, 64, 6_000, 5_000)
FATES = (
    Fate(0, "late", "admitted", label="S2", tokens=30),
    Fate(1, "secret", "dropped", reason=Drop.NOT_PERMITTED),
    Fate(2, "early", "admitted", label="S1", tokens=40),
    Fate(3, "copy", "dropped", reason=Drop.DUPLICATE, detail="same text as early"),
    Fate(4, "copy2", "dropped", reason=Drop.DUPLICATE),
)
DECISION = Decision(
    mode=Mode.ENFORCE,
    model="demo-small",
    policy_id="default",
    policy_version="1",
    policy_digest="d",
    query_class=Classified("how_to", "cue", "how do"),
    window=WINDOW,
    counted=Count(250, Basis.MODELLED, 2),
    documents=FATES,
    evidence_tokens=70,
    reranked_count=0,
    tool_results=(),
    history_dropped=(),
    examples_dropped=(),
    edits=(Edit.EVIDENCE_ADDED,),
    notes=("engine",),
    answers=((1, 2), (3,)),
)
FACTS = Facts(
    trace_id="t",
    time="2026-01-02T03:04:05Z",
    subject="open",
    billed=Billed(251, 9),
    cited=Cited(("S1",), ("S9",)),
    notes=("service",),
)


def test_a_record_carries_the_names_that_reviewers_search_by() -> None:
    story = record(DECISION, FACTS)
    assert story["version"] == VERSION
    assert story["query_class"] == "how_to"
    assert story["evidence_budget"] == 5_000
    assert story["candidate_count"] == 5
    assert story["reranked_count"] == 0
    assert story["accepted_chunk_ids"] == ["early", "late"]  # as they were shown: S1 first
    assert story["evidence_tokens"] == 70
    assert story["answer_reserve"] == 700
    assert story["dropped"] == {"not_permitted": 1, "duplicate": 2}
    assert story["notes"] == ["engine", "service"]
    assert story["count_error"] == 1


def test_a_record_is_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(record(DECISION, FACTS)))["window"]["input_limit"] == 8_000


def test_a_request_that_could_not_be_read_has_a_record_too() -> None:
    story = record(None, FACTS)
    assert story["documents"] == []
    assert story["counted"] is None
    assert story["count_error"] is None


def test_a_request_without_a_window_is_counted_afterwards() -> None:
    decision = msgspec.structs.replace(DECISION, window=None, counted=None, documents=())
    story = record(decision, msgspec.structs.replace(FACTS, counted=Count(249, Basis.MODELLED)))
    assert story["counted"]["tokens"] == 249
    assert story["evidence_budget"] is None
    assert story["answer_reserve"] is None


def test_no_usage_no_error_of_the_count() -> None:
    assert record(DECISION, msgspec.structs.replace(FACTS, billed=None))["count_error"] is None


def test_a_report_names_nothing_that_was_denied_and_nobody() -> None:
    shown = report(record(DECISION, FACTS))
    assert "secret" not in str(shown)
    assert shown["dropped"] == {"duplicate": 2}
    assert not {"answers", "subject", "tenant"} & set(shown)
