from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.options import options_of


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("What is the difference between the Basic plan and the Pro plan in storage?", ["basic", "pro"]),
        ("Is Postgres or MySQL better for analytics?", ["postgr", "mysql"]),
        ("Which is cheaper, Basic or Team?", ["basic", "team"]),
        ("Is the Team plan better than the Basic plan?", ["team", "basic"]),
        ("Compare Basic, Team and Premium on storage.", ["basic", "team", "premium"]),
        ("Redis vs Memcached for sessions", ["redis", "memcach"]),
        ("Which plan has more storage, Basic or Premium?", ["basic", "premium"]),
        ("高铁和飞机哪个更便宜", ["高铁", "飞机"]),
        ("请问顺丰与京东相比，哪个更快？", ["顺丰", "京东"]),
        ("对比年假、病假和产假的天数", ["年假", "病假", "产假"]),
        ("走路还是骑车更快？", ["走路", "骑车"]),
    ],
)
def test_options_are_told_by_the_words_between_them(question: str, options: list[str]) -> None:
    assert [sorted(one) for one in options_of(question)] == [[one] for one in options]


@pytest.mark.parametrize(
    "question",
    [
        "", "When are refunds paid?", "退款多久到账？", "and", "A plan or a plan", "What are the differences?",
        "the " + "very long name of one thing that goes on and on and " * 3,
    ],
)  # fmt: skip
def test_other_questions_have_none(question: str) -> None:
    assert options_of(question) == () or all(options_of(question))


@given(st.text(max_size=200))
def test_any_text_has_options_that_differ_or_none(text: str) -> None:
    options = options_of(text)
    assert len(options) != 1
    assert len(frozenset().union(*options)) == sum(map(len, options))
