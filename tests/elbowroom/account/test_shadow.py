from __future__ import annotations

from typing import Any

from elbowroom.account.shadow import TOO_LONG, compare, together
from elbowroom.account.trace import Billed, Cited, Facts, record
from elbowroom.read.policy import Evidence, Policy
from elbowroom.records import Mode
from tests.walk import chat, pack

QUESTION = ("user", "How long do refunds take?")
DOCUMENTS = [
    {"id": "a", "text": "Refunds take fourteen days.", "score": 0.9},
    {"id": "copy", "text": "Refunds take fourteen days.", "score": 0.8},
    {"id": "b", "text": "Parcels leave on Mondays.", "score": 0.1},
]


def told(policy: Policy, trace_id: str = "t", documents: Any = DOCUMENTS, **facts: Any) -> dict[str, Any]:
    """A real decision's record."""
    decision = pack(chat(QUESTION, documents=documents), policy).decision
    return record(decision, Facts(trace_id=trace_id, time="2026-01-01T00:00:00Z", **facts))


def baseline(**facts: Any) -> dict[str, Any]:
    return told(Policy(mode=Mode.SHADOW), **facts)


def proposed(policy: Policy | None = None) -> dict[str, dict[str, Any]]:
    return {"t": told(policy or Policy())}


def test_tokens_and_drops_are_told_by_class() -> None:
    request, proposals = baseline(), proposed(Policy(evidence=Evidence(max_passages=1)))
    (row,) = compare([request], proposals)
    assert (row.name, row.requests, row.counted, row.missing) == ("general", 1, 1, 0)
    assert row.baseline_tokens == request["counted"]["tokens"]
    assert row.proposed_tokens == proposals["t"]["counted"]["tokens"] < row.baseline_tokens
    assert row.proposed_evidence < row.baseline_evidence
    assert row.drops == {"duplicate": 1, "over_count": 1}


def test_cited_evidence_is_kept_where_the_proposal_shows_it_or_one_that_says_all_of_it() -> None:
    for label, kept in (("S1", 1), ("S2", 1), ("S3", 0)):
        request = baseline(cited=Cited(verified=(label,)))
        (row,) = compare([request], proposed(Policy(evidence=Evidence(max_passages=1))))
        assert (row.cited, row.kept, row.unjudged) == (1, kept, 0), label


def test_an_answer_that_cites_nothing_is_unjudged_and_one_without_evidence_is_not_even_that() -> None:
    for cited in (None, Cited(invented=("S9",))):
        (row,) = compare([baseline(cited=cited)], proposed())
        assert (row.cited, row.kept, row.unjudged) == (0, 0, 1)
    nothing = told(Policy(mode=Mode.SHADOW), documents=[])
    assert compare([nothing], {"t": nothing})[0].unjudged == 0


def test_a_client_that_repeats_its_documents_was_shown_them_all() -> None:
    request = told(Policy(mode=Mode.SHADOW, baseline="as_sent"))
    (row,) = compare([request], proposed())
    assert row.drops == {"duplicate": 1}
    assert row.unjudged == 1


def test_overflow_is_avoided_where_the_proposal_is_no_refusal() -> None:
    left_off = {**baseline(), "dropped": {"over_budget": 1}}
    too_long = baseline(notes=(TOO_LONG,))
    refused = {"t": told(Policy(), error={"code": "insufficient_evidence", "message": "", "param": None})}
    for request in (left_off, too_long):
        (row,) = compare([request], proposed())
        assert (row.overflowed, row.avoided, row.refused) == (1, 1, 0)
        (row,) = compare([request], refused)
        assert (row.overflowed, row.avoided, row.refused) == (1, 0, 1)
        assert row.drops == {}
    assert compare([baseline()], proposed())[0].overflowed == 0


def test_what_has_no_proposal_is_missing_and_what_was_not_counted_adds_no_tokens() -> None:
    uncounted = {**baseline(), "counted": None}
    (row,) = compare([uncounted, baseline(trace_id="other")], proposed())
    assert (row.requests, row.missing, row.counted, row.proposed_tokens) == (2, 1, 0, 0)


def test_classes_are_in_the_order_of_their_requests_and_add_up() -> None:
    requests = [baseline(), {**baseline(), "query_class": "how_to"}, {**baseline(), "query_class": "how_to"}]
    requests.append({**baseline(billed=Billed(1, 1)), "query_class": None})
    rows = compare(requests, proposed())
    assert [(row.name, row.requests) for row in rows] == [("how_to", 2), ("", 1), ("general", 1)]
    whole = together(rows)
    assert (whole.requests, whole.drops) == (4, {"duplicate": 4})
    assert whole.baseline_tokens == 4 * rows[1].baseline_tokens
    assert together([]).requests == 0
