"""When the evidence is not enough: for each way out the exact body, or none, and what is told of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom.decision import decide
from elbowroom.needs import Answer, Need, NeedRetrieve, NeedSummary
from elbowroom.read.policy import Compress, Minimum, Policy, QueryClass
from elbowroom.records import Mode, Packed, Principal, Request
from elbowroom_proxy.answering import drive_here, offline
from tests.walk import TOKENS, bill, chat, counted, pack, reasons, refuse, run, setting, texts


def answered(request: Request, policy: Policy, answers: dict[type, Answer]) -> Packed:
    """The request packed, with answers for what only a service can ask."""

    def answer(need: Need) -> Answer:
        return answers[type(need)] if type(need) in answers else offline(TOKENS.count_now)(need)

    outcome = drive_here(decide(request, setting(policy)), answer)
    assert isinstance(outcome, Packed), outcome
    return outcome


QUESTION = {"en": "When are refunds paid?", "zh": "退款何时支付？"}
REFUNDS: Any = {"id": "a", "source_id": "s", "text": "Refunds are paid within fourteen days.", "score": 1.0}


def policy(**fields: Any) -> Policy:
    return Policy(classes=(QueryClass("general", **fields),))


def ask(lang: str = "en", documents: Any = (), **more: Any) -> Any:
    return chat(("user", QUESTION[lang]), documents=list(documents), **more)


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "No retrieved evidence is available for this question. Say so instead of guessing."),
        ("zh", "没有检索到可用的资料。请说明这一点，不要臆测。"),
    ],
)
def test_scope_note_is_said_to_the_model(lang, said):
    packed = pack(ask(lang), policy())
    message = {"role": "user", "content": f"{said}\n\n{QUESTION[lang]}"}
    assert json.loads(packed.body) == {"model": "m", "messages": [message]}
    decision = packed.decision
    assert (decision.evidence_sufficient, decision.fallback) == (False, "scope_note")
    assert decision.lacks == "no evidence was admitted"
    assert decision.lacks in decision.notes
    assert counted(packed) == bill(packed.body).tokens


def test_what_was_admitted_and_is_too_little_stays_and_is_said():
    packed = pack(ask(documents=[REFUNDS]), policy(minimum=Minimum(passages=2)))
    (sent,) = texts(packed.body)
    assert REFUNDS["text"] in sent
    assert sent.endswith(
        "\n\nThe evidence may not be enough for this question. Say what is missing instead of guessing.\n\n"
        + QUESTION["en"]
    )
    assert packed.decision.lacks == "1 passages were admitted, the class needs 2"
    assert counted(packed) == bill(packed.body).tokens
    one_source = pack(
        ask(documents=[REFUNDS, {**REFUNDS, "id": "b", "text": "Paid by transfer, never in cash."}]),
        policy(minimum=Minimum(sources=2)),
    )
    assert one_source.decision.lacks == "1 sources were admitted, the class needs 2"


def test_enough_is_said_too():
    decision = pack(ask(documents=[REFUNDS]), policy()).decision
    assert (decision.evidence_sufficient, decision.lacks, decision.fallback) == (True, "", None)
    untagged = pack(chat(("user", QUESTION["en"])), policy()).decision
    assert untagged.evidence_sufficient is None


def test_the_model_asks_the_user():
    packed = pack(ask(), policy(on_insufficient="ask_to_narrow"))
    said = (
        "The retrieved evidence is not enough for this question. Do not answer it; ask the user one short question "
        "that would narrow it down.\n\nWhen are refunds paid?"
    )
    assert texts(packed.body) == [said]
    assert packed.reply is None
    assert packed.decision.fallback == "ask_to_narrow"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_proxy_asks_the_user_and_no_model(lang):
    asking = policy(on_insufficient="ask_to_narrow", asked_by="proxy", minimum=Minimum(passages=2))
    packed = pack(ask(lang, [REFUNDS]), asking)
    assert packed.body == b""
    assert packed.sources == ()
    assert packed.reply is not None
    assert packed.reply.endswith("?" if lang == "en" else "？")
    assert packed.decision.counted is None
    assert packed.decision.evidence_tokens == 0
    assert packed.decision.fallback == "ask_to_narrow"


def test_whoever_wants_json_is_asked_by_the_model():
    asking = policy(on_insufficient="ask_to_narrow", asked_by="proxy")
    packed = pack(ask(response_format={"type": "json_object"}), asking)
    assert packed.reply is None
    assert "ask the user one short question" in texts(packed.body)[0]


@pytest.mark.parametrize(
    ("options", "hidden"), [(None, True), ({"include_usage": False}, True), ({"include_usage": True}, False)]
)
def test_usage_of_an_own_stream_is_hidden_from_who_did_not_ask(options, hidden):
    asking = policy(on_insufficient="ask_to_narrow", asked_by="proxy")
    more = {} if options is None else {"stream_options": options}
    assert pack(ask(stream=True, **more), asking).usage_asked is hidden
    assert pack(ask(), asking).usage_asked is False


LONG = {
    "id": "a",
    "source_id": "s",
    "text": "Refunds are paid late. " + "Nobody reads that much of it. " * 80,
    "score": 1.0,
}


def narrow(**fields: Any) -> Policy:
    """No room for any excerpt, since none may be so short."""
    small = policy(on_insufficient="parent_summary", **fields)
    evidence = structs.replace(small.evidence, ceiling=130, min_excerpt_tokens=100, max_passage_tokens=120)
    return structs.replace(small, evidence=evidence)


def test_summaries_stand_in_for_what_does_not_fit():
    other = {
        "id": "b", "source_id": "t", "section": "x", "score": 0.5, "summary": "Transfers take a day.",
        "text": "Refunds by transfer are paid. " + "Everybody asks for less than this. " * 80,
    }  # fmt: skip
    again = {**other, "id": "c", "text": "Paid refunds are reported. " + "Somebody wrote it down. " * 80, "score": 0.4}
    packed = pack(ask(documents=[LONG, other, again]), narrow())
    assert texts(packed.body)[0].count("Transfers take a day.") == 1
    assert packed.decision.fallback == "parent_summary"
    assert packed.decision.evidence_sufficient is False
    fates = {fate.id: fate for fate in packed.decision.documents}
    assert (fates["b"].decision, fates["b"].form, fates["b"].stale_score) == ("admitted", "summary", True)
    assert reasons(packed.decision)["a"] == "over_budget"
    assert fates["c"].decision == "dropped"
    assert counted(packed) == bill(packed.body).tokens


@pytest.mark.parametrize(
    "documents",
    [
        [LONG],
        [{**LONG, "summary": " "}],
        [{**LONG, "summary": "So many words. " * 60}],
        [{"id": "e", "text": " ", "summary": "No."}],
    ],
    ids=["none", "blank", "too long", "what a gate dropped"],
)
def test_without_a_summary_that_fits_the_model_is_told(documents):
    packed = pack(ask(documents=documents), narrow())
    assert packed.decision.fallback == "scope_note"
    assert texts(packed.body)[0].startswith("No retrieved evidence")


def test_no_summary_goes_beyond_the_number_of_passages():
    more = structs.replace(policy(on_insufficient="parent_summary", minimum=Minimum(sources=2)))
    one = structs.replace(more, evidence=structs.replace(more.evidence, max_passages=1))
    packed = pack(ask(documents=[REFUNDS, {**LONG, "id": "b", "source_id": "t", "summary": "Short."}]), one)
    assert reasons(packed.decision)["a"] == "admitted"
    assert packed.decision.fallback == "scope_note"


def test_what_finds_no_room_is_said_in_fewer_words():
    said = "Refunds by transfer take 14 days."
    long = {"id": "b", "source_id": "b", "score": 0.1, "text": "Refunds take 14 days. " + "So it was told. " * 400}
    roomy = policy(minimum=Minimum(sources=2))
    evidence = structs.replace(roomy.evidence, max_passage_tokens=300, min_excerpt_tokens=300, ceiling=600)
    roomy = structs.replace(roomy, evidence=structs.replace(evidence, compress=Compress("small")))
    assert pack(ask(documents=[REFUNDS, long]), roomy).decision.lacks == "1 sources were admitted, the class needs 2"
    outcome = answered(ask(documents=[REFUNDS, long]), roomy, {NeedSummary: (said,)})
    (sent,) = texts(outcome.body)
    assert sent.index(REFUNDS["text"]) < sent.index(said)
    fate = outcome.decision.documents[1]
    assert (fate.form, fate.stale_score, fate.spans, fate.decision) == ("compressed", True, (), "admitted")
    assert outcome.decision.evidence_sufficient
    assert counted(outcome) == bill(outcome.body).tokens
    invented = answered(ask(documents=[REFUNDS, long]), roomy, {NeedSummary: ("Refunds take 41 days.",)})
    assert "41 days" not in texts(invented.body)[0]
    assert invented.decision.documents[1].detail.endswith(
        "not compressed: the model's text has 1 figures that the passage does not have"
    )
    assert "degraded: 1 passages were dropped that could not be compressed" in invented.decision.notes


@pytest.mark.parametrize(("accepts", "asked"), [(("public",), 0), (("public", "internal"), 1), (None, 1)])
def test_a_label_keeps_a_passage_from_whoever_says_it_in_fewer_words(accepts, asked):
    label: Any = {"tenant": "acme", "label": "internal", "visibility": "tenant", "deny_groups": [], "expires_at": None}
    long = {"id": "b", "text": "Refunds take 14 days. " + "So it was told. " * 400, "access": label}
    roomy = policy()
    evidence = structs.replace(roomy.evidence, max_passage_tokens=300, min_excerpt_tokens=300, ceiling=600)
    roomy = structs.replace(roomy, evidence=structs.replace(evidence, compress=Compress("small")))
    principal = Principal("bot", "acme", clearance="internal", keyed=True)
    given = structs.replace(setting(roomy), principal=principal, compressor=accepts)
    needs: list[Need] = []

    def answer(need: Need) -> Answer:
        needs.append(need)
        return offline(TOKENS.count_now)(need)

    drive_here(decide(ask(documents=[long]), given), answer)
    assert sum(isinstance(need, NeedSummary) for need in needs) == asked


def test_a_refusal_is_told_with_what_was_decided():
    refused = refuse(ask(documents=[REFUNDS]), policy(on_insufficient="refuse", minimum=Minimum(sources=2)))
    assert (refused.code, refused.status_hint) == ("insufficient_evidence", 422)
    assert refused.message.endswith("1 sources were admitted, the class needs 2.")
    decision = refused.decision
    assert decision is not None
    assert (decision.evidence_sufficient, decision.fallback, decision.evidence_tokens) == (False, "refuse", 0)
    assert reasons(decision) == {"a": "admitted"}


def test_where_nothing_is_enforced_nothing_is_done_about_it():
    packed = pack(ask(), structs.replace(policy(on_insufficient="refuse"), mode=Mode.PASSTHROUGH))
    assert texts(packed.body) == [QUESTION["en"]]
    assert (packed.decision.evidence_sufficient, packed.decision.fallback) == (False, None)


@pytest.mark.parametrize(("then", "fallback"), [("parent_summary", "scope_note"), ("ask_to_narrow", "ask_to_narrow")])
def test_what_the_final_count_takes_away_is_missed_too(then, fallback):
    """A counter whose sums do not add up: the passages fit by their own counts, and not together."""
    from tests.elbowroom.test_decision import Uneven

    counter = Uneven()
    many = [{"id": f"d{at}", "source_id": f"s{at}", "text": f"Refunds, part {at}, are paid."} for at in range(9)]
    tight = policy(on_insufficient=then, minimum=Minimum(passages=9))
    for ceiling in range(150, 400, 10):
        limited = structs.replace(tight, evidence=structs.replace(tight.evidence, ceiling=ceiling))
        outcome = run(decide(ask(documents=many), setting(limited, counter=counter)))
        assert isinstance(outcome, Packed)
        fates = outcome.decision.documents
        taken = sum("in the final count" in fate.detail for fate in fates)
        if 0 < taken < 9 and taken + sum(fate.decision == "admitted" for fate in fates) == 9:
            assert outcome.decision.fallback == fallback
            assert outcome.decision.evidence_sufficient is False
            assert outcome.decision.evidence_tokens <= ceiling
            return
    pytest.fail("no ceiling made the final count take anything away")


def test_a_remark_for_which_there_is_no_room_is_left_out():
    tight = structs.replace(policy(), evidence=structs.replace(policy().evidence, ceiling=5))
    packed = pack(ask(documents=[REFUNDS]), tight)
    assert texts(packed.body) == [QUESTION["en"]]
    assert packed.decision.evidence_sufficient is False
    assert counted(packed) == bill(packed.body).tokens


def test_a_second_pass_that_the_final_count_undoes_is_told_as_one_that_found_nothing():
    """Uneven counts again: what the retriever brought was enough, until the whole prompt was counted."""
    from tests.elbowroom.test_decision import Uneven

    counter = Uneven()
    first = [{"id": f"d{at}", "source_id": f"s{at}", "text": f"Refunds, part {at}, are paid."} for at in range(4)]
    second = json.dumps([{"id": f"e{at}", "source_id": f"t{at}", "text": f"Paid is part {at}."} for at in range(5)])
    tight = policy(on_insufficient="second_pass", minimum=Minimum(passages=9))

    def answer(need: Need) -> Answer:
        return (second,) if isinstance(need, NeedRetrieve) else offline(TOKENS.count_now)(need)

    found = set()
    for ceiling in (240, 600):
        limited = structs.replace(tight, evidence=structs.replace(tight.evidence, ceiling=ceiling))
        outcome = drive_here(decide(ask(documents=first), setting(limited, counter=counter)), answer)
        assert isinstance(outcome, Packed)
        taken = sum("in the final count" in fate.detail for fate in outcome.decision.documents)
        admitted = sum(fate.decision == "admitted" for fate in outcome.decision.documents)
        found.add((outcome.decision.fallback, admitted == 9, taken + admitted == 9 and taken > 0))
    assert found == {("second_pass", True, False), ("scope_note", False, True)}
