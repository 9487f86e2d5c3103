"""Credit for evidence: quotes, alternatives, copies, excerpts, and what counts as an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.evaluate import Alternative, Expected, Score, Yardstick, bodies, is_there
from elbowroom.decide.passage import Admitted
from elbowroom.write.envelope import render
from tests.passages import passages

PUMP = "The pump runs at night. It is quiet below 40 dB. Nobody hears it."
FAN = "The fan motor is of type M-7."


def measure(*groups: list[Alternative], answers: tuple[str, ...] = (), long_answer: bool = False) -> Yardstick:
    return Yardstick(Expected(tuple(map(tuple, groups)), answers, long_answer), {"pump": PUMP, "fan": FAN}, [PUMP, FAN])


def test_a_quote_is_found_whatever_its_case_spaces_and_marks():
    one = measure([Alternative("pump", ("It is quiet, below 40 dB!",))])
    assert one.credits(["... IT  IS QUIET\nbelow 40-dB ..."]) == (1.0,)
    assert one.credits(["It is quiet below 41 dB."]) == (0.0,)


def test_credit_is_the_share_of_quotes_and_any_wants_one():
    quotes = ("runs at night", "Nobody hears it", "not in there")
    assert measure([Alternative("pump", quotes)]).credits([PUMP]) == pytest.approx((2 / 3,))
    assert measure([Alternative("pump", quotes, any_quote=True)]).credits([PUMP]) == (1.0,)
    assert measure([Alternative("pump", ("elsewhere",), any_quote=True)]).credits([PUMP]) == (0.0,)


def test_the_best_alternative_counts_and_each_group_for_itself():
    one = measure([Alternative("pump", ("elsewhere",)), Alternative("fan", ("type M-7",))], [Alternative("pump")])
    assert one.credits([FAN]) == (1.0, 0.0)
    assert one.score([FAN]) == Score(0.5, False, None)
    assert one.score([FAN, PUMP]) == Score(1.0, True, None)


def test_without_quotes_it_is_the_share_of_the_passages_six_grams():
    one = measure([Alternative("pump")])
    assert one.credits([PUMP]) == (1.0,)
    (half,) = one.credits(["The pump runs at night. It is quiet below 40 dB."])
    assert 0.6 < half < 0.97
    assert one.credits(["Nobody hears it."]) == (0.0,)  # less than three tenths is nothing


def test_a_copy_under_another_id_earns_the_same():
    one = measure([Alternative("pump", ("quiet below 40 dB",))])
    assert one.credits(["Seen elsewhere: it is quiet below 40 dB, they say."]) == (1.0,)


def test_what_nobody_knows_earns_nothing():
    assert measure([Alternative("lost")]).credits([PUMP, FAN]) == (0.0,)
    assert measure([Alternative("pump", ("...",))]).credits([PUMP]) == (1.0,)  # a quote of marks is no quote


def test_there_is_more_than_97_percent():
    assert not is_there(0.97)
    assert is_there(0.971)


@pytest.mark.parametrize(
    ("answers", "long_answer", "found"),
    [
        (("40 dB",), False, True),
        (("M-7",), False, False),  # not in what was admitted
        (("M-7", "40 dB"), False, True),
        (("41 dB",), False, None),  # in no candidate
        (("Yes", "no"), False, None),
        ((), False, None),
        (("",), False, None),
        (("40 dB",), True, None),
    ],
)
def test_an_answer_is_looked_for_where_it_can_be(answers, long_answer, found):
    one = measure([Alternative("pump")], answers=answers, long_answer=long_answer)
    assert one.score([PUMP]).answer is found


def test_bodies_are_what_stands_between_tag_lines():
    some = passages(
        [{"id": "a", "text": "First line.\n<S1>\nS1- not a tag"}, {"id": "b", "text": "二", "title": "标题"}]
    )
    labelled = [(f"S{at}", Admitted(one, one.text.clean, 0)) for at, one in enumerate(some, start=1)]
    envelope = render(labelled, b"key")
    found = bodies(envelope.text + "Is S1 right?")
    assert found == {"S1": some[0].text.clean, "S2": "二"}


def test_the_form_of_the_tag_lines_does_not_matter():
    prompt = "Note.\n### [S1-4829] title > section\nbody\n\n### end S1-4829\n[S2-4829] t\nmore\n[/S2-4829]\n\nWhy?"
    assert bodies(prompt) == {"S1": "body\n", "S2": "more"}


def test_a_prompt_without_evidence_has_no_bodies():
    assert bodies("Cite what you use by its tag, like [S1].\nWhy?") == {}


@given(st.lists(st.sampled_from([PUMP, FAN, "泵在夜间运行。", "x"]), max_size=4))
def test_more_text_never_lowers_a_credit(texts):
    one = measure([Alternative("pump"), Alternative("fan", ("fan motor", "M-7"))], [Alternative("pump", ("quiet",))])
    for at in range(len(texts)):
        less, more = one.credits(texts[:at]), one.credits(texts[: at + 1])
        assert all(0 <= a <= b <= 1 for a, b in zip(less, more, strict=True))
