"""Every file in `decide/gates/` is one gate of one shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide import gates
from elbowroom.decide.passage import Passage, Refusal, Room
from elbowroom.records import Drop
from tests.passages import limits, passage

NUMBERS = limits(max_passages=1, per_source=1, min_novelty=0.5)


def test_the_gates_of_the_default_policy_are_there():
    assert {
        "wrong_language",
        "stale",
        "expired",
        "superseded",
        "below_floor",
        "empty",
        "repeated_id",
        "duplicate",
        "source_cap",
        "over_count",
        "low_novelty",
        "over_budget",
    } <= gates.NAMES


@pytest.mark.parametrize("name", ["", "passage", "../rank", "gates", "os"])
def test_only_what_lies_in_the_folder_can_be_loaded(name):
    with pytest.raises(KeyError):
        gates.load(name)


@pytest.mark.parametrize("name", sorted(gates.NAMES))
def test_a_gate_is_named_after_its_reason(name):
    assert Drop(name) == gates.load(name).REASON
    assert gates.load(name).MOMENT in ("sift", "pack")


@pytest.mark.parametrize("name", sorted(gates.NAMES))
def test_what_is_new_short_and_alone_passes(name):
    gate = gates.load(name).build(NUMBERS)
    assert gate(passage("One sentence that nobody said before."), Room([], tokens_left=100, cost=20)) is None


@pytest.mark.parametrize("name", sorted(gates.NAMES))
@given(
    texts=st.lists(st.one_of(st.none(), st.text(max_size=20), st.just("The same. Twice.")), max_size=6),
    left=st.integers(0, 50),
    novelty=st.floats(0, 1),
)
def test_a_refusal_has_a_detail_and_repeats_only_what_was_let_in(name, texts, left, novelty):
    def run() -> list[Refusal | None]:
        gate = gates.load(name).build(NUMBERS)
        kept: list[Passage] = []
        answers = []
        for at, text in enumerate(texts):
            one = passage(text, position=at, source_id=str(at % 2))
            answer = gate(one, Room(kept, left, one.tokens, novelty))
            answers.append(answer)
            if answer is None:
                kept.append(one)
            else:
                assert answer.detail
                assert answer.repeats is None or any(answer.repeats is other for other in kept)
        return [answer and Refusal(answer.detail) for answer in answers]

    assert run() == run()
