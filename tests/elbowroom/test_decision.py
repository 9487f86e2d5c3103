from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from elbowroom import count
from elbowroom.count.counter import Counter
from elbowroom.decide.endpoint import ROUNDS
from elbowroom.decision import Setting, decide, recount
from elbowroom.errors import CountUnavailable
from elbowroom.needs import Need, NeedCounts, NeedEndpointCount, NeedRedaction
from elbowroom.read.policy import Answer, Counting, Evidence, History, Policy, QueryClass, Redact, Tool
from elbowroom.records import Basis, Count, Drop, Edit, Learned, Mode, Packed, Plan, Refused, Request
from elbowroom_proxy.answering import drive_here, offline
from tests.planted import planted
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


@pytest.mark.parametrize("ceiling", range(350, 400, 2))
def test_what_the_final_count_finds_too_long_goes_last_admitted_first(ceiling: int) -> None:
    """A counter whose counts do not add up: each line costs more than it seemed. Not one token is too many."""
    packed = pack(chat(QUESTION, documents=many(6, 10)), Policy(evidence=Evidence(ceiling=ceiling)), counter=Uneven())
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
    named = pack(tool_talk(small), Policy(tools={"find": Tool(max_rows=5)}))
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


def test_a_baseline_as_sent_takes_the_tags_off_and_adds_nothing() -> None:
    request = chat(QUESTION, documents=[PARCELS, REFUNDS])
    packed = pack(request, Policy(mode=Mode.SHADOW, baseline="as_sent"))
    assert texts(packed.body) == [QUESTION[1]]
    assert b"documents" not in packed.body
    assert reasons(packed.decision) == {"p": "not_added", "r": "not_added"}
    assert packed.decision.evidence_sufficient is None
    assert "admitted" in reasons(pack(request, Policy(baseline="as_sent")).decision).values()  # where it is enforced


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


# --- by the provider's own count -------------------------------------------------------------------------------------


def near(policy: Policy, **more: Any) -> Setting:
    """A model with an endpoint, and a margin that packed prompts come within."""
    learned = {"tools/32k": Learned(0, 0, refused=MARGIN)}
    return structs.replace(setting(policy, **more), endpoint=True, learned=learned)


MARGIN = 100


class Provider:
    """A model's counting endpoint: it answers `tokens`, or by its own rules, or not at all."""

    def __init__(self, tokens: int | None = None, off: int = 0, reachable: bool = True) -> None:
        self.tokens, self.off, self.reachable = tokens, off, reachable
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, need: Need) -> tuple[Any, ...]:
        if not isinstance(need, NeedEndpointCount):
            return offline(TOKENS.count_now)(need)
        assert need.model == "m"
        self.bodies.append(json.loads(need.body))
        if not self.reachable:
            return ()
        return (bill(need.body).tokens + self.off if self.tokens is None else self.tokens,)

    def decides(self, request: Request, policy: Policy, **more: Any) -> Packed:
        outcome = drive_here(decide(request, near(policy, **more)), self)
        assert isinstance(outcome, Packed), outcome
        return outcome


TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {}}}
NEAR = Policy(input_limit=2_000, evidence=Evidence(ceiling=6_000, max_passages=20))
ALWAYS = structs.replace(NEAR, counting=Counting(endpoint="always"))


def test_a_sure_count_far_from_the_limit_asks_nobody() -> None:
    provider = Provider()
    packed = provider.decides(chat(QUESTION, documents=[REFUNDS]), NEAR)
    assert packed.decision.counted == bill(packed.body)
    assert provider.bodies == []


def test_near_the_limit_the_packed_prompt_is_counted_by_its_provider() -> None:
    provider = Provider()
    packed = provider.decides(chat(QUESTION, documents=many(30, 10), tools=[TOOL]), NEAR)
    (asked,) = provider.bodies
    assert asked["messages"] == json.loads(packed.body)["messages"]
    assert packed.decision.counted == Count(bill(packed.body).tokens, Basis.EXACT)


def test_what_its_count_shows_to_be_too_long_goes_and_is_counted_again() -> None:
    few = Provider(off=300).decides(chat(QUESTION, documents=many(30, 10), tools=[TOOL]), NEAR)
    all_of_it = Provider().decides(chat(QUESTION, documents=many(30, 10), tools=[TOOL]), NEAR)
    assert len(few.sources) < len(all_of_it.sources)
    assert few.decision.counted == Count(bill(few.body).tokens + 300, Basis.EXACT)
    assert few.decision.window is not None
    assert few.decision.counted.tokens + few.decision.window.answer_reserve + NEAR.safety_margin <= NEAR.input_limit


def test_an_endpoint_that_finds_everything_too_long_is_not_asked_for_ever() -> None:
    provider = Provider(tokens=9_000)
    packed = provider.decides(chat(QUESTION, documents=many(30, 10), tools=[TOOL]), NEAR)
    assert len(provider.bodies) <= ROUNDS
    assert packed.sources == ()


def test_always_asks_about_every_tagged_request_and_untagged_ones_that_are_counted() -> None:
    provider = Provider()
    assert provider.decides(chat(QUESTION, documents=[REFUNDS]), ALWAYS).decision.counted.basis is Basis.EXACT  # type: ignore[union-attr]
    provider.decides(chat(QUESTION), ALWAYS)
    assert len(provider.bodies) == 1
    long = provider.decides(chat(("user", "word " * 7_000)), ALWAYS)
    assert len(provider.bodies) == 2
    assert long.decision.counted == Count(bill(long.body).tokens, Basis.EXACT)


def test_a_prompt_that_comes_near_without_evidence_is_asked_about_before_anything_yields() -> None:
    """By its bytes it would not fit; its provider knows better."""
    bounded = structs.replace(MODEL, counter="bounded", vocabulary="bytes", family="gemini")
    provider = Provider()
    request = chat(("system", "word " * 850), QUESTION, documents=[REFUNDS])
    packed = provider.decides(request, NEAR, model=bounded)
    assert len(provider.bodies) == 1
    counted, billed = packed.decision.counted, bill(packed.body).tokens
    assert counted is not None
    assert counted.basis is Basis.BOUNDED  # evidence is added by its bytes
    assert billed < counted.tokens < 2 * billed
    assert packed.sources


@pytest.mark.parametrize("before", [0, 850])
def test_evidence_is_never_more_than_the_prompt_that_its_provider_counted(before: int) -> None:
    """Where rules only bound a model, they bound its evidence by bytes, which are several times as many."""
    bounded = structs.replace(MODEL, counter="bounded", vocabulary="bytes", family="gemini")
    provider = Provider(tokens=120)
    request = chat(("system", "word " * before), QUESTION, documents=[REFUNDS, PARCELS])
    packed = provider.decides(request, structs.replace(ALWAYS, input_limit=6_000), model=bounded)
    assert packed.decision.counted == Count(120, Basis.EXACT)
    assert len(packed.sources) == 2
    assert 0 < packed.decision.evidence_tokens < 120


def test_evidence_is_the_difference_where_the_prompt_was_counted_without_it() -> None:
    bounded = structs.replace(MODEL, counter="bounded", vocabulary="bytes", family="gemini")
    answers = iter((900, 960))
    request = chat(("system", "word " * 850), QUESTION, documents=[REFUNDS])

    def answer(need: Need) -> tuple[Any, ...]:
        return (next(answers),) if isinstance(need, NeedEndpointCount) else offline(TOKENS.count_now)(need)

    packed = drive_here(decide(request, near(ALWAYS, model=bounded)), answer)
    assert isinstance(packed, Packed)
    assert (packed.decision.counted, packed.decision.evidence_tokens) == (Count(960, Basis.EXACT), 60)


@pytest.mark.parametrize("additive", [True, False])
def test_what_no_rule_covers_is_counted_by_its_provider(additive: bool) -> None:
    provider = Provider(tokens=500)
    counter = Mute()
    counter.additive = additive
    packed = provider.decides(chat(QUESTION, documents=[REFUNDS, PARCELS]), NEAR, counter=counter)
    assert len(packed.sources) == 2
    counted = packed.decision.counted
    assert counted == Count(500 + packed.decision.evidence_tokens, Basis.MODELLED, packed.decision.evidence_tokens)
    assert packed.decision.window.framing == 500  # type: ignore[union-attr]


def test_and_refused_where_that_is_not_to_be_had() -> None:
    outcome = drive_here(
        decide(chat(QUESTION, documents=[REFUNDS]), near(NEAR, counter=Mute())),
        Provider(reachable=False),
    )
    assert isinstance(outcome, Refused)
    assert (outcome.code, outcome.status_hint) == ("count_unavailable", 503)


def test_an_endpoint_out_of_reach_leaves_the_upper_end_of_the_count() -> None:
    provider = Provider(reachable=False)
    packed = provider.decides(chat(QUESTION, documents=many(30, 10), tools=[TOOL]), NEAR)
    by_rule = bill(packed.body)
    assert packed.decision.counted == Count(by_rule.tokens + MARGIN, Basis.BOUNDED)
    assert "the provider's counting endpoint could not be reached" in packed.decision.notes
    assert len(provider.bodies) == 1


def test_or_a_refusal_where_the_policy_wants_it() -> None:
    policy = structs.replace(NEAR, counting=Counting(on_unavailable="refuse"))
    request = chat(QUESTION, documents=many(30, 10), tools=[TOOL])
    outcome = drive_here(decide(request, near(policy)), Provider(reachable=False))
    assert isinstance(outcome, Refused)
    assert outcome.code == "count_unavailable"


def test_counts_that_do_not_add_up_are_corrected_too() -> None:
    """The prompt is asked about before its evidence is chosen; what evidence adds is the difference of two by rule."""
    provider, counter = Provider(off=50), Uneven()
    request = chat(("system", "word " * 1_000), QUESTION, documents=[REFUNDS], tools=[TOOL])
    wide = {"tools/32k": Learned(0, 0, refused=4 * MARGIN)}
    limited = near(structs.replace(NEAR, input_limit=2_100), counter=counter)
    packed = drive_here(decide(request, structs.replace(limited, learned=wide)), provider)
    assert isinstance(packed, Packed)
    before, after = provider.bodies
    added = sum(tokens(text) for text in counter.plan(after).texts) + counter.plan(after).constant
    added -= sum(tokens(text) for text in counter.plan(before).texts) + counter.plan(before).constant
    assert packed.decision.evidence_tokens == added > 0
    assert packed.decision.counted == Count(bill(packed.body).tokens + 50, Basis.EXACT)


def test_an_exact_count_that_history_was_taken_from_is_no_longer_exact() -> None:
    turns = [turn for i in range(30) for turn in (("user", f"Question {i}. " + "word " * 250), ("assistant", "Yes."))]
    packed = Provider().decides(chat(*turns, QUESTION, tools=[TOOL]), ALWAYS)
    assert packed.decision.history_dropped
    assert packed.decision.counted == bill(packed.body)


def test_the_note_that_nothing_was_admitted_is_counted_with_an_exact_count() -> None:
    packed = Provider().decides(chat(QUESTION, documents=[{"id": "a", "text": " "}], tools=[TOOL]), ALWAYS)
    assert packed.sources == ()
    assert packed.decision.counted == Count(bill(packed.body).tokens, Basis.EXACT)


def test_answers_of_an_endpoint_are_recorded_and_so_is_their_absence() -> None:
    request = chat(QUESTION, documents=many(30, 10), tools=[TOOL])
    for provider in (Provider(), Provider(off=300), Provider(reachable=False)):
        first = provider.decides(request, NEAR)
        recorded = iter(first.decision.answers)
        again = drive_here(
            decide(request, near(NEAR)),
            lambda _: next(recorded),  # noqa: B023
        )
        assert again == first


# --- by what bills have taught ----------------------------------------------------------------------------------------


def test_the_margin_that_bills_have_taught_is_kept_free() -> None:
    request = chat(QUESTION, documents=many(30, 10), tools=[TOOL])
    kind = pack(request, NEAR).decision.shape
    assert kind == "tools/32k"
    taught = structs.replace(setting(NEAR), learned={kind: Learned(0, 1, refused=500)})
    packed = run(decide(request, taught))
    assert isinstance(packed, Packed)
    assert packed.decision.counted == structs.replace(bill(packed.body), margin=500)
    assert packed.decision.window.safety_margin == NEAR.safety_margin + 500  # type: ignore[union-attr]
    assert run(recount(request, taught)).margin == 500


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

    drive_here(decide(chat(("system", "Be brief."), QUESTION, documents=many(12)), setting()), offline(answer))
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


# --- what must not leave ----------------------------------------------------------------------------------------------

KEY = planted("aws_key")[0]


def unsearched(*texts: str) -> Callable[[Need], Any]:
    """Answers like the proxy's own, but for the search of these texts."""
    answer = offline(TOKENS.count_now)

    def but(need: Need) -> Any:
        if not isinstance(need, NeedRedaction):
            return answer(need)
        return tuple(None if text in texts else found for text, found in zip(need.texts, answer(need), strict=True))

    return but


@pytest.mark.parametrize("mode", list(Mode))
def test_secrets_are_replaced_before_anything_is_counted(mode: Mode) -> None:
    request = chat(QUESTION, documents=[{**REFUNDS, "text": f"Refunds: {KEY}."}, PARCELS])
    packed = pack(request, Policy(mode=mode))
    assert "Refunds: [REDACTED:aws_key#1]." in texts(packed.body)[0]
    assert packed.decision.counted is not None
    assert packed.decision.counted.tokens == bill(packed.body).tokens
    fate = packed.decision.documents[0]
    assert [(one.rule, one.number, one.spans) for one in fate.redactions] == [("aws_key", 1, ((9, 29),))]
    assert Edit.REDACTED in packed.decision.edits


@pytest.mark.parametrize("mode", list(Mode))
def test_what_could_not_be_searched_is_dropped_in_every_mode(mode: Mode) -> None:
    request = chat(QUESTION, documents=[REFUNDS, PARCELS])
    packed = drive_here(decide(request, setting(Policy(mode=mode))), unsearched(str(REFUNDS["text"])))
    assert isinstance(packed, Packed)
    assert reasons(packed.decision) == {"r": Drop.REDACTION_FAILED, "p": "admitted"}
    assert "fourteen" not in packed.body.decode()
    assert packed.decision.documents[0].detail == "it could not be searched in time for what must not leave"


def test_an_untagged_request_with_a_secret_is_counted_as_it_leaves() -> None:
    request = chat(("user", f"Is {KEY} a key?"))
    policy = Policy(redact=Redact(messages=True))
    packed = pack(request, policy)
    assert texts(packed.body) == ["Is [REDACTED:aws_key#1] a key?"]
    assert packed.decision.counted == bill(packed.body)
    passing = structs.replace(policy, mode=Mode.PASSTHROUGH)
    assert run(recount(request, setting(passing))) == bill(pack(request, passing).body)
    assert pack(request).body is request.body
    assert pack(chat(("user", "No key here.")), policy).decision.counted is None


def test_a_message_that_could_not_be_searched_is_a_refusal() -> None:
    policy = Policy(redact=Redact(messages=True))
    refused = drive_here(decide(chat(QUESTION), setting(policy)), unsearched(QUESTION[1]))
    assert isinstance(refused, Refused)
    assert (refused.code, refused.param, refused.status_hint) == ("redaction_unavailable", "messages[0]", 503)
