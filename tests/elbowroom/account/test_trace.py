from __future__ import annotations

import msgspec

from elbowroom.account.requested import Instruction, Tools
from elbowroom.account.trace import (
    VERSION,
    Aside,
    Billed,
    Captured,
    Cited,
    Facts,
    Held,
    Relay,
    Settlement,
    record,
    report,
)
from elbowroom.budget.hold import Amounts
from elbowroom.needs import Retrieval
from elbowroom.records import (
    Basis,
    Classified,
    Count,
    Decision,
    Drop,
    Edit,
    Fate,
    Mode,
    Principal,
    Redaction,
    Reranking,
    Summary,
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
    labels=("internal",),
    label_incomplete=2,
    redactions=(Redaction("mail", 1, 1, ((3, 9),), "messages[0]"),),
)
FACTS = Facts(
    trace_id="t",
    time="2026-01-02T03:04:05Z",
    subject="open",
    principal=Principal(clearance="internal"),
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
    assert (story["labels"], story["label_incomplete"]) == (["internal"], 2)
    assert [(one["where"], one["spans"]) for one in story["redactions"]] == [("messages[0]", ((3, 9),))]
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
    assert not {"answers", "subject", "tenant", "principal"} & set(shown)
    assert record(DECISION, FACTS)["principal"]["clearance"] == "internal"


def test_a_second_question_is_told_and_not_to_the_client() -> None:
    asked = msgspec.structs.replace(DECISION, retrieval=Retrieval("ran", 2, "digest", 4, 3), answers=(("[]",), (1,)))
    story = record(asked, FACTS)
    assert story["retrieval"] == {"state": "ran", "terms": 2, "digest": "digest", "first": 4, "came": 3}
    assert story["answers"] == [[None], [1]]
    assert "retrieval" not in report(story)


def test_what_yielded_is_told_in_the_order_in_which_it_yields() -> None:
    fates = (
        Fate(0, "a", "admitted", label="S1", form="excerpt"),
        Fate(1, "b", "dropped", reason=Drop.OVER_BUDGET),
        Fate(2, "c", "dropped", reason=Drop.OVER_COUNT),
        Fate(3, "d", "dropped", reason=Drop.DUPLICATE),
    )
    crowded = msgspec.structs.replace(DECISION, documents=fates, history_dropped=(1, 2), examples_dropped=(0,))
    assert record(crowded, FACTS)["too_much"] == [
        {"step": "passages_dropped", "n": 2},
        {"step": "passages_shortened", "n": 1},
        {"step": "messages_dropped", "n": 2},
        {"step": "examples_dropped", "n": 1},
    ]
    summed = msgspec.structs.replace(crowded, history_summary=Summary(2, 300, 40, "digest"))
    story = record(summed, FACTS)
    assert {"step": "messages_summarised", "n": 2} in story["too_much"]
    assert story["history_summary"] == {"messages": 2, "tokens_before": 300, "tokens": 40, "digest": "digest"}
    assert record(msgspec.structs.replace(DECISION, documents=()), FACTS)["too_much"] == []
    fewer = msgspec.structs.replace(DECISION, documents=(Fate(0, "a", "admitted", label="S1", form="compressed"),))
    assert record(fewer, FACTS)["too_much"] == [{"step": "passages_compressed", "n": 1}]


def test_sufficiency_reranking_and_calls_beside_are_told() -> None:
    told = msgspec.structs.replace(
        DECISION,
        rerank=Reranking("http", "failed", 12, 3),
        evidence_sufficient=False,
        lacks="no evidence was admitted",
        fallback="scope_note",
    )
    facts = msgspec.structs.replace(FACTS, asides=(Aside("rerank", "http", ms=12.5, failed="late"),))
    story = record(told, facts)
    assert story["reranking"] == {"by": "http", "state": "failed", "candidates": 12, "cut": 3}
    assert (story["evidence_sufficient"], story["fallback"]) == (False, "scope_note")
    assert story["lacks"] == "no evidence was admitted"
    assert story["asides"][0]["failed"] == "late"
    assert report(story)["evidence_sufficient"] is False


def test_no_summary_s_text_is_in_a_record() -> None:
    told = msgspec.structs.replace(DECISION, answers=((1, 2), ("They spoke of it.",), (0.5,), ()))
    assert record(told, FACTS)["answers"] == [[1, 2], [None], [0.5], []]


def test_what_did_not_work_is_told_in_words_that_can_be_counted() -> None:
    failed = (Aside("rerank", "http", failed="late"), Aside("rerank", "http", failed="late"), Aside("retrieve", "http"))
    gone = Fate(0, "a", "dropped", reason=Drop.REDACTION_FAILED)
    decision = msgspec.structs.replace(
        DECISION, documents=(gone,), notes=("degraded: the reranker gave no order, the caller's was taken",)
    )
    facts = msgspec.structs.replace(
        FACTS, asides=failed, hold=Held("open", 7, "counted", 5, Amounts()), notes=("count_cache_degraded",)
    )
    assert record(decision, facts)["degradations"] == [
        "rerank_failed", "ledger_open", "counts_recomputed", "rerank_missing", "redaction_failed",
    ]  # fmt: skip
    assert record(DECISION, FACTS)["degradations"] == []
    assert record(None, FACTS)["degradations"] == []


def test_what_lies_beside_a_record_is_no_business_of_the_client() -> None:
    facts = msgspec.structs.replace(
        FACTS,
        hash_key_id="1",
        captured=Captured("redacted", "2026-12-31"),
        instructions=(Instruction(0, "system", "digest", 9),),
        tools=Tools(("search",), ("search",)),
    )
    story = record(DECISION, facts)
    assert story["captured"] == {"kept": "redacted", "until": "2026-12-31"}
    assert list(story["instructions"]) == [{"message": 0, "role": "system", "digest": "digest", "bytes": 9}]
    shown = report(story)
    assert not {"hash_key_id", "captured", "instructions"} & set(shown)
    assert list(shown["tools"]["admitted"]) == ["search"]


def test_what_was_relayed_has_a_model_and_no_decision():
    told = record(None, Facts(trace_id="t", time="2026-01-01", relayed=Relay("embeddings", "m", ("model_mapped",))))
    assert (told["model"], told["mode"], told["documents"]) == ("m", None, [])
    assert told["relayed"] == {"route": "embeddings", "model": "m", "edits": ("model_mapped",)}


def test_what_was_held_and_what_it_came_to_are_told_apart():
    facts = Facts(
        trace_id="t",
        time="2026-01-01",
        hold=Held("granted", 50, "counted", 30, Amounts(80, 110, 60)),
        settlement=Settlement("usage", "settled", Amounts(90, 100, 90), Amounts(10)),
    )
    told = record(DECISION, facts)
    assert told["hold"]["amounts"] == {"tokens": 80, "micro_usd": 110, "rate_tokens": 60}
    assert (told["settlement"]["by"], told["settlement"]["overrun"]["tokens"]) == ("usage", 10)
    assert told["limited"] is False
