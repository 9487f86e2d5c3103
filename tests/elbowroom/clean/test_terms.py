from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.terms import stem, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is the refund policy?", {"refund": 1, "policy": 1}),
        ("Refunds, refunding; REFUNDED refund", {"refund": 4}),
        ("the user's and users’ policies", {"user": 2, "policy": 1}),
        ("don't we've I'm", {}),
        ("max_tokens=4096, v1.2", {"max": 1, "token": 1, "4096": 1, "v1": 1, "2": 1}),
        ("1,000.50 and 12,345 in 2021, 3,4", {"1000.50": 1, "12345": 1, "2021": 1, "3": 1, "4": 1}),
        ("5g 3rd", {"5g": 1, "3rd": 1}),
        ("退款期限", {"退款": 1, "款期": 1, "期限": 1}),
        ("天。30天", {"天": 2, "30": 1}),
        ("GPT模型_test", {"gpt": 1, "模型": 1, "test": 1}),
        ("是什么", {}),
        ("サーバー", {"サー": 1, "ーバ": 1, "バー": 1}),
        ("では", {}),
        ("환불은", {"환불": 1, "불은": 1}),
        ("हिन्दी में", {"हिन्दी": 1, "में": 1}),
        ("Ünïcode Привет", {"ünïcode": 1, "привет": 1}),
        ("می‌خواهم", {"می‌خواهم": 1}),
        ("", {}),
        ("… — !", {}),
    ],
)
def test_terms(text: str, expected: dict[str, int]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("forms", "term"),
    [
        ("policy policies", "policy"),
        ("stop stops stopped stopping", "stop"),
        ("cache caches cached caching", "cach"),
        ("class classes", "class"),
        ("status", "status"),
        ("fill filled filling", "fill"),
        ("bed", "bed"),
        ("bring", "bring"),
        ("the", ""),
        ("1,000", "1000"),
        ("café", "café"),
    ],
)  # fmt: skip
def test_forms_of_a_word_are_one_term(forms: str, term: str) -> None:
    assert {stem(form) for form in forms.split()} == {term}


def test_a_word_without_end_becomes_several() -> None:
    assert terms("a" * 100) == {"a" * 40: 2, "a" * 20: 1}
    assert terms("é" * 100) == {"é" * 40: 2, "é" * 20: 1}


@given(st.text(max_size=200))
def test_case_does_not_matter_and_no_term_is_empty(text: str) -> None:
    found = terms(text)
    assert "" not in found
    assert all(count > 0 for count in found.values())
    assert terms(text.lower()) == found


@given(
    st.text(st.sampled_from("ab é退款。サ1,. \n"), max_size=60),
    st.text(st.sampled_from("ab é退款。サ1,. \n"), max_size=60),
)
def test_texts_side_by_side_have_both_their_terms(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)
