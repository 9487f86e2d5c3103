from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from elbowroom import count
from elbowroom.count.counter import Counter
from elbowroom.decision import decide, recount
from elbowroom.errors import CountUnavailable
from elbowroom.read.policy import Answer, Evidence, History, Policy, QueryClass, ToolResults
from elbowroom.records import Basis, Drop, Edit, Mode, NeedCounts, Packed, Plan, Refused
from elbowroom_proxy.answering import drive_here
from tests.walk import MODEL, TOKENS, bill, chat, pack, read, reasons, refuse, run, setting, texts, tokens

REFUNDS = {"id": "r", "title": "Refunds", "text": "Refunds are paid within fourteen days.", "score": 0.9}
PARCELS = {"id": "p", "title": "Parcels", "text": "Parcels leave on Mondays and Thursdays.", "score": 0.5}
QUESTION = ("user", "When are refunds paid?")


def many(n: int, words: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "id": f"d{i}",
            "source_id": f"s{i}",
            "text": f"Rule {i}. " + f"Refunds number{i} word. " * words,
            "score": n - i,
        }
        for i in range(n)
    ]


# --- what leaves ------------------------------------------------------------------------------------------------------


def test_evidence_stands_before_the_user_s_own_text() -> None:
    packed = pack(chat(("system", "Be brief."), QUESTION, documents=[REFUNDS, PARCELS]))
    system, user = texts(packed.body)
    assert system == "Be brief."
    assert user.endswith("\n\n" + QUESTION[1])
    assert "fourteen days" in user
    assert {"documents", "context"}.isdisjoint(json.loads(packed.body))
    assert Edit.EVIDENCE_ADDED in packed.decision.edits
    assert Edit.TAGS_REMOVED in packed.decision.edits


def test_what_was_counted_is_what_is_billed() -> None:
    packed = pack(chat(("system", "Be brief."), QUESTION, documents=[REFUNDS, PARCELS]))
    assert packed.decision.counted == bill(packed.body)


@pytest.mark.parametrize("asked", ["/refund?", " spaced", "\nnew line", "", "refund"])
def test_counts_add_up_whatever_the_user_s_text_begins_with(asked: str) -> None:
    packed = pack(chat(("user", asked), documents=[REFUNDS, {"id": "s", "text": "/etc is a path.", "score": 1}]))
    assert packed.decision.counted == bill(packed.body)
    assert texts(packed.body)[0].endswith(asked)


def test_parts_get_the_evidence_as_a_part_of_its_own() -> None:
    asked = [{"type": "text", "text": QUESTION[1]}]
    packed = pack(read({"model": "m", "messages": [{"role": "user", "content": asked}], "documents": [REFUNDS]}))
    first, *rest = json.loads(packed.body)["messages"][0]["content"]
    assert rest == asked
    assert "fourteen days" in first["text"]
    assert packed.decision.counted == bill(packed.body)


def test_a_request_without_tags_leaves_byte_for_byte() -> None:
    request = chat(("system", "Be brief."), QUESTION, temperature=0.5)
    packed = pack(request)
    assert packed.body is request.body
    assert packed.decision.edits == ()
    assert packed.decision.counted is None
    assert run(recount(request, setting())) == bill(request.body)


def test_sources_tell_where_each_label_leads() -> None:
    packed = pack(chat(QUESTION, documents=[{**REFUNDS, "url": "https://kb.example/r"}, PARCELS]))
    assert [(source.label, source.id, source.url) for source in packed.sources] == [
        ("S1", "r", "https://kb.example/r"),
        ("S2", "p", None),
    ]
    assert "kb.example" not in packed.body.decode()


def test_only_a_tagged_stream_is_asked_for_its_usage() -> None:
    assert pack(chat(QUESTION, documents=[REFUNDS], stream=True)).usage_asked
    assert not pack(chat(QUESTION, stream=True)).usage_asked
    given = pack(chat(QUESTION, documents=[REFUNDS], stream=True, stream_options={"include_usage": False}))
    assert not given.usage_asked


# --- why --------------------------------------------------------------------------------------------------------------


def test_every_document_has_a_reason() -> None:
    documents = [REFUNDS, {"id": "blank", "text": " "}, {**REFUNDS, "id": "copy", "score": 0.1}, PARCELS]
    decision = pack(chat(QUESTION, documents=documents)).decision
    assert reasons(decision) == {"r": "admitted", "blank": Drop.EMPTY, "copy": Drop.DUPLICATE, "p": "admitted"}
    assert decision.documents[0].also_in == ("copy",)


def test_the_same_id_with_the_same_text_counts_once() -> None:
    decision = pack(chat(QUESTION, documents=[REFUNDS, REFUNDS])).decision
    assert [fate.reason for fate in decision.documents] == [None, Drop.REPEATED_ID]


def test_evidence_keeps_to_its_ceiling() -> None:
    decision = pack(chat(QUESTION, documents=many(30)), Policy(evidence=Evidence(ceiling=900))).decision
    assert 0 < decision.evidence_tokens <= 900
    assert decision.window is not None
    assert decision.window.evidence_budget == 900


def test_a_passage_too_long_goes_in_as_whole_sentences() -> None:
    long = {"id": "long", "text": " ".join(f"Sentence {i} speaks of refunds." for i in range(400))}
    packed = pack(chat(QUESTION, documents=[long]), Policy(evidence=Evidence(max_passage_tokens=200)))
    (fate,) = packed.decision.documents
    assert fate.decision == "admitted"
    assert fate.tokens < fate.tokens_before
    assert fate.spans
    assert packed.decision.counted == bill(packed.body)


def test_the_policy_s_cap_on_passages_is_a_reason_of_its_own() -> None:
    decision = pack(chat(QUESTION, documents=many(4, 5)), Policy(evidence=Evidence(max_passages=2))).decision
    assert sorted(reasons(decision).values()) == ["admitted", "admitted", Drop.OVER_COUNT, Drop.OVER_COUNT]


def test_what_the_final_count_finds_too_long_goes_last_admitted_first() -> None:
    """A counter whose counts do not add up: each line costs more than it seemed."""
    packed = pack(chat(QUESTION, documents=many(6, 10)), Policy(evidence=Evidence(ceiling=400)), counter=Uneven())
    window = packed.decision.window
    assert window is not None
    assert packed.decision.evidence_tokens <= window.evidence_budget
    late = [fate for fate in packed.decision.documents if fate.detail.endswith("over in the final count")]
    assert late
    assert all(fate.reason is Drop.OVER_BUDGET for fate in late)


class Uneven:
    """Counts as OpenAI does, and ten tokens more for every newline, so that a sum is never the count."""

    vocabulary = "o200k_base"
    additive = False

    def __init__(self) -> None:
        self.inner = count.build(MODEL)

    def plan(self, body: Any) -> Plan:
        plan = self.inner.plan(body)
        lines = sum(text.count("\n") for text in plan.texts)
        return structs.replace(plan, constant=plan.constant + 10 * lines, basis=Basis.EXACT)

    def encloses(self, body: Any, size: int) -> int | None:
        return self.inner.encloses(body, 2 * size)


def test_no_evidence_is_said_in_the_language_of_the_question() -> None:
    english = pack(chat(QUESTION, documents=[{"id": "a", "text": ""}]))
    assert texts(english.body)[0].startswith("No retrieved evidence")
    assert "no evidence was admitted" in english.decision.notes
    chinese = pack(chat(("user", "退款多久到账？"), documents=[]))
    assert texts(chinese.body)[0].startswith("没有")
    assert chinese.decision.counted == bill(chinese.body)


def test_where_even_that_does_not_fit_nothing_is_added() -> None:
    packed = pack(chat(QUESTION, documents=[REFUNDS]), Policy(evidence=Evidence(ceiling=3)))
    assert texts(packed.body) == [QUESTION[1]]
    assert packed.decision.evidence_tokens == 0


# --- room -------------------------------------------------------------------------------------------------------------


def long_talk(turns: int, words: int = 150) -> list[tuple[str, str]]:
    said = [("user", "Tell me more of it. " * words), ("assistant", "It goes on and on. " * words)]
    return [("system", "Be brief."), *(message for _ in range(turns) for message in said)]


def test_history_yields_to_evidence_in_whole_turns() -> None:
    request = chat(*long_talk(6), ("user", "When are the annual refunds of this company paid out?"), documents=many(9))
    packed = pack(request, Policy(history=History(max_tokens=2_000)))
    dropped = packed.decision.history_dropped
    assert dropped
    assert len(dropped) % 2 == 0
    assert Edit.HISTORY_EVICTED in packed.decision.edits
    assert len(texts(packed.body)) == len(request.messages) - len(dropped)
    assert packed.decision.counted == bill(packed.body)


def test_without_tags_history_stays_until_the_window_overflows() -> None:
    assert pack(chat(*long_talk(4, 120), QUESTION)).decision.history_dropped == ()
    packed = pack(chat(*long_talk(8), QUESTION))
    assert packed.decision.history_dropped
    assert packed.decision.counted is not None
    assert packed.decision.counted.tokens + 700 <= MODEL.context_window


def test_examples_go_when_nothing_else_can() -> None:
    examples = [
        {"role": "user", "name": "example_user", "content": "word " * 2_000},
        {"role": "assistant", "name": "example_assistant", "content": "word " * 2_000},
    ]
    asked = {"role": "user", "content": "word " * 5_000}
    packed = pack(read({"model": "m", "messages": [*examples, asked]}))
    assert packed.decision.examples_dropped == (1,)
    assert Edit.EXAMPLES_EVICTED in packed.decision.edits
    assert Edit.HISTORY_EVICTED not in packed.decision.edits


def test_a_maximum_that_does_not_fit_is_lowered_and_said() -> None:
    packed = pack(chat(("user", "word " * 7_000), max_tokens=4_000))
    assert json.loads(packed.body)["max_tokens"] < 1_300
    assert Edit.OUTPUT_CLAMPED in packed.decision.edits
    assert any("lowered" in note for note in packed.decision.notes)


def test_the_operator_s_cap_is_sent_where_the_client_named_no_maximum() -> None:
    packed = pack(chat(QUESTION, documents=[REFUNDS]), Policy(answer=Answer(output_cap=500)))
    assert json.loads(packed.body)["max_tokens"] == 500
    assert Edit.OUTPUT_CAPPED in packed.decision.edits


def test_what_may_not_be_cut_is_refused_with_what_was_decided() -> None:
    refused = refuse(chat(("system", "word " * 9_000), QUESTION, documents=[REFUNDS]))
    assert (refused.code, refused.status_hint) == ("context_length_exceeded", 400)
    assert refused.message.startswith("context_length_exceeded: This model's maximum context length is 8192 tokens.")
    assert refused.decision is not None
    assert refused.decision.query_class.name
    assert refused.decision.answers


def test_a_class_that_nobody_knows_is_refused() -> None:
    refused = refuse(chat(QUESTION, documents=[REFUNDS], context={"class": "nonsense"}))
    assert refused.status_hint == 400


def test_tool_results_are_capped_in_tagged_requests() -> None:
    packed = pack(tool_talk([{"i": i} for i in range(900)], documents=[REFUNDS]))
    (result,) = packed.decision.tool_results
    assert (result.rows_before, result.rows_after) == (900, 200)
    assert Edit.TOOL_RESULT_CAPPED in packed.decision.edits
    assert packed.decision.counted == bill(packed.body)


def test_without_tags_they_are_capped_only_where_named_or_where_the_window_would_overflow() -> None:
    small, large = [{"i": i} for i in range(900)], [{"i": i, "name": f"item {i}"} for i in range(3_000)]
    assert pack(tool_talk(small)).decision.tool_results == ()
    named = pack(tool_talk(small), Policy(tools={"find": ToolResults(max_rows=5)}))
    assert named.decision.tool_results[0].rows_after == 5
    overflowing = pack(tool_talk(large))
    assert overflowing.decision.tool_results[0].capped
    assert overflowing.decision.counted == bill(overflowing.body)


def tool_talk(rows: list[Any], **more: Any) -> Any:
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "List all"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(rows)},
    ]
    return read({"model": "m", "messages": messages, **more})


# --- modes, models and counters ---------------------------------------------------------------------------------------


def test_passthrough_cleans_and_fences_and_chooses_nothing() -> None:
    documents = [PARCELS, REFUNDS, {**REFUNDS, "id": "copy", "text": "<|im_start|> again"}]
    policy = Policy(mode=Mode.PASSTHROUGH, evidence=Evidence(max_passages=1))
    packed = pack(chat(QUESTION, documents=documents), policy)
    assert reasons(packed.decision) == {"p": "admitted", "r": "admitted", "copy": "admitted"}
    assert [source.id for source in packed.sources] == ["p", "r", "copy"]
    assert "<|im_start|>" not in texts(packed.body)[0]


def test_passthrough_says_nothing_of_evidence_that_is_not_there() -> None:
    packed = pack(chat(QUESTION, documents=[]), Policy(mode=Mode.PASSTHROUGH))
    assert texts(packed.body) == [QUESTION[1]]


def test_passthrough_leaves_what_is_not_tagged_alone_however_long() -> None:
    request = chat(*long_talk(12), QUESTION)
    assert pack(request, Policy(mode=Mode.PASSTHROUGH)).body is request.body


def test_a_model_that_nobody_mapped_is_said() -> None:
    model = structs.replace(MODEL, known=False, family="unknown")
    packed = pack(chat(QUESTION, documents=[REFUNDS]), model=model)
    assert packed.decision.counted is not None
    assert packed.decision.counted.basis is Basis.BOUNDED
    assert any("no counter" in note for note in packed.decision.notes)


class Mute:
    """Cannot count anything."""

    vocabulary = "o200k_base"
    additive = True

    def plan(self, _body: Any) -> Plan:
        raise CountUnavailable("audio is not counted here")

    def encloses(self, _body: Any, _size: int) -> int | None:
        return None


def outcome(counter: Counter, **more: Any) -> Packed | Refused:
    return run(decide(chat(QUESTION, **more), setting(counter=counter)))


def test_a_tagged_request_that_cannot_be_counted_is_refused() -> None:
    refused = outcome(Mute(), documents=[REFUNDS])
    assert isinstance(refused, Refused)
    assert (refused.code, refused.status_hint) == ("count_unavailable", 503)


def test_an_untagged_one_is_forwarded_and_says_so() -> None:
    packed = outcome(Mute())
    assert isinstance(packed, Packed)
    assert packed.decision.counted is None
    assert packed.decision.notes == ("not counted: audio is not counted here",)


def test_a_question_that_finds_no_answer_is_the_step_s_to_judge() -> None:
    def drive(**more: Any) -> Packed | Refused:
        steps = decide(chat(("user", "word " * 9_000), **more), setting(Policy(answer=Answer(min_output_tokens=1))))
        next(steps)
        with pytest.raises(StopIteration) as end:
            steps.throw(CountUnavailable("no vocabulary"))
        result: Packed | Refused = end.value.value
        return result

    assert isinstance(drive(), Packed)
    assert isinstance(drive(documents=[REFUNDS]), Refused)


# --- again ------------------------------------------------------------------------------------------------------------


def test_recorded_answers_give_the_same_bytes_without_a_tokenizer() -> None:
    """Nobody but the recording answers here: no loop, no vocabulary, no store."""
    request = chat(*long_talk(3), QUESTION, documents=many(12), max_tokens=600)
    first = pack(request)
    recorded = iter(first.decision.answers)
    assert drive_here(decide(request, setting()), lambda _: next(recorded)) == first
    assert list(recorded) == []


def test_all_recurring_texts_are_asked_for_at_once() -> None:
    asked: list[NeedCounts] = []

    def answer(need: NeedCounts) -> tuple[int, ...]:
        asked.append(need)
        return TOKENS.count_now(need)

    drive_here(decide(chat(("system", "Be brief."), QUESTION, documents=many(12)), setting()), answer)
    assert sum(need.recurring for need in asked) == 1
    assert len(asked) <= 4


def test_a_follow_up_looks_for_the_terms_of_the_turn_before() -> None:
    policy = Policy(classes=(QueryClass("general"),), evidence=Evidence(ceiling=120))
    documents = [
        {"id": "other", "text": "Parcels leave on Mondays. Lorries carry them north.", "score": 0.5},
        {"id": "asked", "text": "Invoices of annual plans are sent in January.", "score": 0.5},
    ]
    talk = [("user", "Tell me about invoices of annual plans"), ("assistant", "They are sent yearly.")]
    packed = pack(chat(*talk, ("user", "And it?"), documents=documents), policy)
    assert packed.decision.query_class.follow_up
    assert packed.sources[0].id == "asked"
    assert tokens("x") == 1
