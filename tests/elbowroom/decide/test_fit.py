from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide.conversation import Costs
from elbowroom.decide.fit import Fit, Reserve, fit, overflows, with_summary
from elbowroom.errors import ContextLengthExceeded
from elbowroom.read.policy import Answer, History, Policy
from elbowroom.records import Basis, Count, Mode, Model

MODEL = Model("m", "demo", "m", 8_000, 4_000, "openai_chat", "gpt-4o", "o200k_base")
POLICY = Policy(input_limit=32_000, safety_margin=64, history=History(share=0.25, max_tokens=8_000))


def costs(
    turns: tuple[int, ...] = (),
    examples: tuple[int, ...] = (),
    instructions: int = 100,
    tail: int = 0,
    question: int = 50,
    basis: Basis = Basis.MODELLED,
    margin: int = 0,
) -> Costs:
    total = instructions + sum(examples) + sum(turns) + tail + question + 10
    return Costs(Count(total, basis, margin), instructions, 0, examples, turns, tail, question)


def run(cost: Costs, reserve: int = 700, policy: Policy = POLICY, model: Model = MODEL, **given: object) -> Fit:
    reserved = Reserve(reserve, given.pop("client_max", None), given.pop("n", 1))  # type: ignore[arg-type]
    told = {"ceiling": 6_000, "wanted": 0, "follow_up": False, **given}
    return fit(cost, reserved, policy, model, **told)  # type: ignore[arg-type]


def test_the_equation_names_every_term() -> None:
    window = run(costs(turns=(30, 20), tail=5), wanted=500).window
    assert window.instructions + window.conversation + window.question + window.framing == 100 + 55 + 50 + 10
    assert window.evidence_budget == min(6_000, 8_000 - 215 - 700 - 64)


def test_the_policy_s_limit_holds_on_a_larger_window() -> None:
    policy = structs.replace(POLICY, input_limit=8_000)
    large = structs.replace(MODEL, context_window=128_000)
    assert run(costs(), policy=policy, model=large).window.evidence_budget == run(costs()).window.evidence_budget


def test_a_margin_of_the_count_is_kept_free() -> None:
    assert run(costs(margin=12), ceiling=9_000).window.safety_margin == 76
    assert run(costs(margin=12), ceiling=9_000).window.evidence_budget == 8_000 - 160 - 700 - 76


def test_history_stays_where_history_and_evidence_both_fit() -> None:
    assert run(costs(turns=(400,) * 10), wanted=2_000).turns_dropped == 0


def test_history_is_held_to_its_cap_where_they_do_not() -> None:
    fitted = run(costs(turns=(400,) * 10), wanted=5_000)
    cap = (8_000 - 160 - 700) * 0.25
    assert 1 <= 10 - fitted.turns_dropped <= cap // 400
    assert fitted.count.tokens == 160 + 400 * (10 - fitted.turns_dropped)


def test_a_new_question_lets_evidence_win_and_a_follow_up_lets_history_win() -> None:
    talk = costs(turns=(400,) * 10)
    new, follow = (run(talk, wanted=6_500, ceiling=6_500, follow_up=up) for up in (False, True))
    assert new.turns_dropped > follow.turns_dropped
    assert new.window.evidence_budget >= 6_400


def test_untagged_history_is_untouched_until_the_window_overflows() -> None:
    assert run(costs(turns=(700,) * 10)).turns_dropped == 0
    dropped = run(costs(turns=(700,) * 11)).turns_dropped
    assert dropped > 0
    assert 160 + 700 + 700 * (11 - dropped) <= 8_000


def test_a_summary_has_its_room_from_the_turns_that_stay() -> None:
    talk = costs(turns=(700,) * 20)
    without, fitted = run(talk), run(talk, summary=432)
    assert (without.summary_room, fitted.summary_room) == (0, 432)
    assert fitted.turns_dropped >= without.turns_dropped
    summed = with_summary(fitted, 300)
    assert summed.count.tokens == fitted.count.tokens + 300
    assert summed.window.conversation == fitted.window.conversation + 300
    assert summed.window.evidence_budget == fitted.window.evidence_budget - 300
    assert summed.count.tokens + summed.window.answer_reserve <= 8_000


def test_nobody_sums_up_what_stays() -> None:
    assert run(costs(turns=(700,) * 3), summary=432).summary_room == 0


def test_the_client_s_maximum_is_clamped_when_nothing_else_can_yield() -> None:
    fitted = run(costs(instructions=7_000), reserve=2_000, client_max=2_000)
    assert fitted.clamped_max == 8_000 - 7_060
    assert fitted.window.answer_reserve == 940


def test_a_clamp_is_divided_among_the_choices() -> None:
    assert run(costs(instructions=7_000), reserve=2_000, client_max=1_000, n=2).clamped_max == 470


def test_a_maximum_above_the_model_s_own_is_lowered_to_it_where_an_upstream_would_refuse_it() -> None:
    tagged = run(costs(), reserve=4_000, client_max=6_000, wanted=3_000)
    assert (tagged.window.answer_reserve, tagged.window.evidence_budget) == (4_000, 3_776)
    assert tagged.clamped_max == 4_000
    assert run(costs(), reserve=4_000, client_max=4_000, wanted=3_000).clamped_max is None


def test_it_stays_where_it_fits() -> None:
    assert run(costs(), reserve=4_000, client_max=7_840).clamped_max is None
    assert run(costs(), reserve=4_000, client_max=7_841).clamped_max == 4_000
    assert run(costs(), reserve=4_000, client_max=4_200, wanted=100, ceiling=100).clamped_max is None


def test_it_stays_where_nothing_is_enforced_or_the_prompt_is_only_bounded() -> None:
    passthrough = structs.replace(POLICY, mode=Mode.PASSTHROUGH)
    assert run(costs(), reserve=4_000, policy=passthrough, client_max=9_000, wanted=3_000).clamped_max is None
    bounded = costs(instructions=5_000, basis=Basis.BOUNDED)
    assert run(bounded, reserve=2_000, client_max=9_000).clamped_max is None
    assert run(bounded, reserve=2_000, client_max=9_000, wanted=3_000).clamped_max == 2_000


def test_a_class_s_reserve_shrinks_without_a_word_to_the_upstream() -> None:
    fitted = run(costs(instructions=7_500), reserve=700)
    assert fitted.clamped_max is None
    assert fitted.window.answer_reserve == 440


def test_examples_go_last_the_last_one_first() -> None:
    fitted = run(costs(instructions=7_600, examples=(50, 60)), reserve=300, client_max=300)
    assert fitted.examples_dropped == 1
    assert fitted.window.examples == 50
    assert fitted.clamped_max == 8_000 - 7_710


def test_what_may_not_be_cut_is_refused_with_the_numbers() -> None:
    with pytest.raises(ContextLengthExceeded, match=r"8000 tokens.* resulted in 8060 tokens") as refusal:
        run(costs(instructions=8_000, examples=(10,)))
    assert refusal.value.status_hint == 400
    assert refusal.value.param == "messages"


def test_an_answer_smaller_than_the_smallest_is_not_refused() -> None:
    assert run(costs(instructions=7_900), reserve=40, client_max=40).clamped_max is None


def test_a_limit_on_the_prompt_alone_binds_whatever_the_answer_leaves() -> None:
    model = structs.replace(MODEL, max_input_tokens=1_000)
    assert run(costs(), model=model, wanted=5_000).window.evidence_budget == 1_000 - 160 - 64
    assert run(costs(turns=(300,) * 4), model=model).count.tokens <= 1_000
    assert overflows(costs(instructions=1_000), Reserve(10, None), model)
    with pytest.raises(ContextLengthExceeded, match="maximum context length is 1256 tokens"):
        run(costs(instructions=1_000), model=model)


def test_an_upper_bound_narrows_evidence_and_refuses_nothing() -> None:
    fitted = run(costs(instructions=9_000, turns=(100,), basis=Basis.BOUNDED), client_max=700)
    assert (fitted.turns_dropped, fitted.clamped_max, fitted.window.evidence_budget) == (0, None, 0)


def test_where_nothing_is_enforced_only_evidence_yields() -> None:
    policy = structs.replace(POLICY, mode=Mode.PASSTHROUGH, input_limit=1_000)
    fitted = run(costs(turns=(400,) * 10), policy=policy, wanted=50_000, ceiling=8_000)
    assert fitted.turns_dropped == 0
    assert fitted.window.input_limit == 8_000
    assert run(costs(instructions=9_000), policy=policy).window.evidence_budget == 0


def test_overflow_is_never_claimed_of_a_bound() -> None:
    assert overflows(costs(instructions=7_500), Reserve(700, None), MODEL)
    assert not overflows(costs(instructions=7_000), Reserve(700, None), MODEL)
    assert not overflows(costs(instructions=7_500, basis=Basis.BOUNDED), Reserve(700, None), MODEL)


def test_the_seed_s_window() -> None:
    """Window 8,000, answer 1,500, fixed 1,200: three turns of 400 and four chunks of 900 leave 500."""
    model = structs.replace(MODEL, context_window=8_000)
    policy = structs.replace(POLICY, safety_margin=0)
    talk = Costs(Count(1_200 + 3 * 400, Basis.EXACT), 1_200, 0, (), (400,) * 3, 0, 0)
    budget = fit(talk, Reserve(1_500, 1_500), policy, model, ceiling=6_000, wanted=3_600, follow_up=False)
    assert budget.turns_dropped == 0
    assert divmod(budget.window.evidence_budget, 900) == (4, 500)


def test_the_seed_s_allocation() -> None:
    """allocate(128000; 1000, 3000, 200; cap 8000, reserve 4000) -> 8000."""
    model = structs.replace(MODEL, context_window=128_000)
    policy = Policy(input_limit=128_000)
    talk = Costs(Count(1_000 + 3_000 + 200, Basis.EXACT), 1_000, 0, (), (3_000,), 0, 200)
    budget = fit(talk, Reserve(4_000, 4_000), policy, model, ceiling=8_000, wanted=50_000, follow_up=False)
    assert budget.window.evidence_budget == 8_000


@given(
    turns=st.lists(st.integers(1, 3_000), max_size=8),
    examples=st.lists(st.integers(1, 500), max_size=3),
    instructions=st.integers(0, 9_000),
    reserve=st.integers(1, 4_000),
    named=st.booleans(),
    wanted=st.integers(0, 20_000),
    follow_up=st.booleans(),
    min_output=st.integers(1, 500),
)
def test_prompt_evidence_and_answer_never_exceed_the_window(
    turns: list[int],
    examples: list[int],
    instructions: int,
    reserve: int,
    named: bool,
    wanted: int,
    follow_up: bool,
    min_output: int,
) -> None:
    policy = structs.replace(POLICY, answer=Answer(min_output_tokens=min_output))
    cost = costs(turns=tuple(turns), examples=tuple(examples), instructions=instructions)
    given_max = reserve if named else None
    try:
        fitted = run(cost, reserve, policy, client_max=given_max, wanted=wanted, follow_up=follow_up)
    except ContextLengthExceeded:
        assert instructions + 60 + min(min_output, reserve) > MODEL.context_window
        return
    window = fitted.window
    assert fitted.count.tokens + window.evidence_budget + window.answer_reserve <= MODEL.context_window
    assert window.answer_reserve >= min(min_output, reserve)
    assert fitted.clamped_max is None or fitted.clamped_max < reserve
    terms = window.instructions + window.tools + window.examples + window.conversation + window.question
    assert terms + window.framing == fitted.count.tokens
