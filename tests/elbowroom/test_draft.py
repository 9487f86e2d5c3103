"""What leaves when not everything can: turns summed up, candidates put in order, and a beginning that stays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from elbowroom.decision import decide
from elbowroom.needs import Answer, Need, NeedRerank, NeedSummary
from elbowroom.read.policy import History, Policy, Rerank, Summaries
from elbowroom.records import Edit, Packed, Principal, Request
from elbowroom_proxy.answering import drive_here, offline
from tests.walk import MODEL, TOKENS, bill, chat, counted, pack, reasons, refuse, setting, texts

REFUNDS: Any = {"id": "r", "title": "Refunds", "text": "Refunds are paid within fourteen days.", "score": 0.9}
QUESTION = ("user", "When are refunds paid?")
CLEARED = Principal("ann", "acme", (), "restricted", keyed=True)
RESTRICTED: Any = {
    **REFUNDS,
    "access": {"tenant": "acme", "label": "restricted", "deny_groups": [], "visibility": "tenant", "expires_at": None},
}


# --- history that is summed up ----------------------------------------------------------------------------------------

SUMMED = structs.replace(
    Policy(), history=History(share=0.5, summary=Summaries(model="small", max_tokens=60, timeout=1.5))
)
SMALL = structs.replace(MODEL, context_window=2_000)


class Summariser:
    """Answers with one summary, or with none; notes what it is asked."""

    def __init__(self, *answer: str) -> None:
        self.answer = answer
        self.asked: list[NeedSummary] = []

    def __call__(self, need: Need) -> Answer:
        if isinstance(need, NeedSummary):
            self.asked.append(need)
            return self.answer
        return offline(TOKENS.count_now)(need)

    def decides(self, request: Request, policy: Policy = SUMMED) -> Packed:
        outcome = drive_here(decide(request, setting(policy, SMALL)), self)
        assert isinstance(outcome, Packed)
        return outcome


def talk(turns: int, question: str = "And when are refunds paid?", **more: Any) -> Request:
    said = [
        one for at in range(turns) for one in (("user", f"Question {at}. " + "word " * 60), ("assistant", f"No. {at}"))
    ]
    return chat(("system", "Be brief."), *said, ("user", question), **more)


def test_turns_that_go_are_summed_up_before_the_first_that_stays() -> None:
    asked = Summariser("They spoke of numbers.")
    packed = asked.decides(talk(40))
    (need,) = asked.asked
    assert (need.model, need.timeout) == ("small", 1.5)
    assert need.max_tokens <= 60
    gone = packed.decision.history_dropped
    assert need.text.startswith("user: Question 0.")
    sent = texts(packed.body)
    assert sent[0] == "Be brief."
    assert sent[1].startswith(
        "[Summary of the earlier conversation]\nThey spoke of numbers.\n[End of summary]\n\nQuestion"
    )
    summary = packed.decision.history_summary
    assert summary is not None
    assert summary.messages == len(gone) > 0
    assert summary.tokens_before > summary.tokens > 0
    assert Edit.HISTORY_SUMMARISED in packed.decision.edits
    assert packed.decision.counted == bill(packed.body)
    assert counted(packed) + 700 <= 2_000
    assert packed.decision.window is not None
    assert packed.decision.window.conversation > 0


def test_a_summary_takes_its_room_from_evidence_as_history_does() -> None:
    documents = [{**REFUNDS, "text": REFUNDS["text"] + " Twice." * 300}]
    packed = Summariser("They spoke of numbers.").decides(talk(20, documents=documents))
    window = packed.decision.window
    assert window is not None
    assert packed.decision.history_summary is not None
    assert packed.decision.evidence_tokens <= window.evidence_budget
    assert counted(packed) + window.answer_reserve + window.safety_margin <= 2_000
    assert counted(packed) == bill(packed.body).tokens


@pytest.mark.parametrize("answer", [(), ("word " * 500,)], ids=["none", "too long"])
def test_without_a_summary_they_go_and_it_is_noted(answer: tuple[str, ...]) -> None:
    packed = Summariser(*answer).decides(talk(40))
    assert packed.decision.history_dropped
    assert packed.decision.history_summary is None
    assert "degraded: earlier turns were dropped without a summary" in packed.decision.notes
    assert Edit.HISTORY_SUMMARISED not in packed.decision.edits
    assert packed.decision.counted == bill(packed.body)


@pytest.mark.parametrize(("accepts", "told"), [(None, False), (("restricted",), True)])
def test_labels_keep_earlier_turns_from_the_model_that_sums_up(accepts: tuple[str, ...] | None, told: bool) -> None:
    early = [{"type": "document", "document": RESTRICTED}, {"type": "text", "text": "word " * 1_200}]
    asked = Summariser("They spoke of numbers.")
    inside = structs.replace(
        setting(SUMMED, structs.replace(SMALL, accepts=("restricted",))), principal=CLEARED, summariser=accepts
    )
    outcome = drive_here(decide(chat(("user", early), ("assistant", "No."), QUESTION), inside), asked)
    assert isinstance(outcome, Packed)
    assert outcome.decision.history_dropped
    note = "degraded: labels keep earlier turns from the model that sums up"
    assert (bool(asked.asked), note in outcome.decision.notes) == (told, not told)


def test_where_no_turn_stays_the_summary_stands_before_the_question() -> None:
    asked = Summariser("They spoke of numbers.")
    packed = asked.decides(talk(12, "And? " + "word " * 1_130))
    assert texts(packed.body)[1].startswith("[Summary of the earlier conversation]")
    assert texts(packed.body)[1].endswith("word ")
    assert len(texts(packed.body)) == 2


def test_a_growing_conversation_keeps_its_beginning_until_a_turn_must_go() -> None:
    """Turn by turn: what goes up begins as it began a turn ago, but for the few turns at which history is evicted."""
    asked = Summariser("They spoke of numbers.")
    begun: list[tuple[str, ...]] = []
    for turns in range(1, 50):
        sent = texts(asked.decides(talk(turns)).body)
        begun.append(tuple(sent[:-1]))  # all but the question itself
    moved = [now[: len(before)] != before for before, now in pairwise(begun)]
    assert 0 < sum(moved) <= 12
    assert not any(one and other for one, other in pairwise(moved))
    cuts = {need.text for need in asked.asked}
    assert len(cuts) == sum(moved)


# --- rerankers --------------------------------------------------------------------------------------------------------

MANY = [
    {"id": f"d{at}", "source_id": f"s{at}", "text": f"Refunds, case {at}: " + f"word{at} " * 40, "score": 1 - at / 100}
    for at in range(40)
]


def reranked(policy: Policy, backwards: bool = True) -> Packed:
    def answer(need: Need) -> Answer:
        if isinstance(need, NeedRerank):
            return tuple(float(at) for at in range(len(need.texts))) if backwards else ()
        return offline(TOKENS.count_now)(need)

    outcome = drive_here(decide(chat(QUESTION, documents=MANY), setting(policy)), answer)
    assert isinstance(outcome, Packed)
    return outcome


def test_the_order_is_the_reranker_s_and_the_trace_says_so() -> None:
    policy = structs.replace(Policy(), packer="topk", rerank=Rerank(by="lexical", retrieve_k=20))
    decision = reranked(policy).decision
    assert decision.rerank is not None
    assert (decision.rerank.by, decision.rerank.state, decision.reranked_count) == ("lexical", "ran", 20)
    assert {fate.id for fate in decision.documents if fate.decision == "admitted"} == {f"d{at}" for at in range(12, 20)}


def test_a_failure_leaves_the_caller_s_order_and_the_same_budget() -> None:
    policy = structs.replace(Policy(), packer="topk", rerank=Rerank(by="lexical"))
    failed, without = reranked(policy, backwards=False).decision, reranked(Policy(packer="topk")).decision
    assert reasons(failed) == reasons(without)
    assert failed.window == without.window
    assert failed.reranked_count == 0
    assert "degraded: the reranker gave no order, the caller's was taken" in failed.notes


def test_or_a_refusal_where_the_policy_wants_an_order() -> None:
    refused = refuse(chat(QUESTION, documents=MANY), Policy(rerank=Rerank(by="lexical", on_failure="refuse")))
    assert (refused.code, refused.status_hint) == ("rerank_unavailable", 503)


@pytest.mark.parametrize(("accepts", "told"), [((), False), (("restricted",), True)])
def test_labels_keep_documents_from_a_reranker(accepts: tuple[str, ...], told: bool) -> None:
    policy = Policy(rerank=Rerank(by="http"))
    inside = structs.replace(
        setting(policy, structs.replace(MODEL, accepts=("restricted",))),
        principal=CLEARED,
        rerankers={"http": accepts},
    )

    def answer(need: Need) -> Answer:
        return (1.0,) if isinstance(need, NeedRerank) else offline(TOKENS.count_now)(need)

    outcome = drive_here(decide(chat(QUESTION, documents=[RESTRICTED]), inside), answer)
    assert isinstance(outcome, Packed)
    note = "degraded: labels keep documents from the reranker http"
    assert (outcome.decision.rerank is not None, note in outcome.decision.notes) == (told, not told)


# --- documents in their place -----------------------------------------------------------------------------------------


def test_where_nothing_fits_not_even_that_is_said_in_a_document_s_place() -> None:
    asked = [{"type": "document", "document": REFUNDS}, {"type": "text", "text": "When are refunds paid?"}]
    said = []
    for ceiling in (100, 10, 1):
        policy = Policy(evidence=structs.replace(Policy().evidence, ceiling=ceiling))
        said.append(pack(chat(("user", asked)), policy).body.decode())
    assert ["fourteen days" in one for one in said] == [True, False, False]
    assert ["None of these documents" in one for one in said] == [False, True, False]


@pytest.mark.parametrize("packer", ["cover", "topk", "weighted"])
def test_more_retrieved_or_kept_need_not_raise_the_input(packer: str) -> None:
    """What limits the input is the ceiling: more candidates and more kept ones compete for the same room."""
    sizes = set()
    for retrieve_k, keep in ((10, 4), (20, 8), (40, 8), (40, 20), (40, 40)):
        evidence = structs.replace(Policy().evidence, ceiling=400, rerank_keep=keep)
        policy = Policy(packer=packer, evidence=evidence, rerank=Rerank(by="lexical", retrieve_k=retrieve_k))
        packed = reranked(policy)
        assert packed.decision.evidence_tokens <= 400
        sizes.add(counted(packed))
    assert max(sizes) <= 1.05 * min(sizes)


def test_nothing_relevant_is_not_a_failure() -> None:
    decision = reranked(Policy(rerank=Rerank(by="lexical", min_score=1_000))).decision
    assert decision.rerank is not None
    assert decision.rerank.state == "nothing_relevant"
    assert set(reasons(decision).values()) == {"below_floor"}
    assert (decision.evidence_sufficient, decision.fallback) == (False, "scope_note")
    assert not any("degraded" in note for note in decision.notes)
