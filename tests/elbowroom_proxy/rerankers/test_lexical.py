from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom_proxy.rerankers.lexical import bm25, build

TEXTS = [
    "Refunds are paid within fourteen days.",
    "Parcels leave on Mondays.",
    "退款在十四天内支付。",
    "Refunds, refunds.",
]


async def test_who_shares_the_rarer_terms_is_first():
    reranker = build(None)
    scored = await reranker.scores("When are refunds paid in days?", TEXTS)
    assert max(scored.scores) == scored.scores[0]
    assert scored.scores[1] == scored.scores[2] == 0.0
    assert scored.micro_usd == 0
    assert max((await reranker.scores("退款多久支付", TEXTS)).scores) == bm25("退款多久支付", TEXTS)[2]
    await reranker.close()


def test_of_two_that_say_it_as_often_the_shorter_is_first():
    short, long = bm25("refunds", ["Refunds here.", "Refunds here and many other words that have no refund in them."])
    assert short > long > 0


def test_no_texts_have_no_scores():
    assert bm25("refunds", []) == ()
    assert bm25("", ["the of"]) == (0.0,)


@settings(deadline=None)
@given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=6))
def test_scores_are_one_a_text_and_never_below_nothing(question, texts):
    scores = bm25(question, texts)
    assert len(scores) == len(texts)
    assert all(one >= 0 for one in scores)


def test_it_costs_nothing():
    assert build(None).most("which?", ["one"]) == 0
