"""What is left, when it runs out, and who spends the most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Entity, Limits
from elbowroom.budget.sums import Sums
from elbowroom.budget.view import Level, Limit, Sum, level, runs_out, top

EVERY = Limits(rpm=5, tpm=900, parallel=3, tokens=1_000, micro_usd=40, period="1d")

SPENT = Amounts(250, 50)


def sums(limits: Limits = EVERY, *, at: float = 150.5, spent: Amounts = SPENT, **more) -> Sums:
    of = {"held": Amounts(100, 3), "unconfirmed": Amounts(60, 2), "open": 2, "requests": 4, "rate_tokens": 800, **more}
    entity = Entity("key", "acme/support/bot", limits)
    return Sums(entity, at, 100, 300, spent=spent, requests_free=170, tokens_free=180, **of)


def test_each_limit_has_what_is_left_and_when_it_begins_anew():
    found = level(sums())
    assert found.limits == (
        Limit("rpm_limit", "requests", 5, 4, 0, 0, 1, 170, None),
        Limit("tpm_limit", "tokens", 900, 800, 0, 0, 100, 180, None),
        Limit("max_parallel_requests", "requests", 3, 0, 2, 0, 1, None, None),
        Limit("max_tokens", "tokens", 1_000, 250, 100, 60, 650, 300, None),
        Limit("max_budget", "micro_usd", 40, 50, 3, 2, 0, 300, 150),
    )
    assert (found.kind, found.name, found.period, found.start, found.end, found.open) == (
        "key", "acme/support/bot", "1d", 100, 300, 2,
    )  # fmt: skip
    assert (found.spent, found.held, found.unconfirmed) == (Sum(250, 50), Sum(100, 3), Sum(60, 2))


def test_who_limits_nothing_still_spends():
    found = level(sums(Limits()))
    assert (found.limits, found.spent) == ((), Sum(250, 50))


def test_the_pace_of_the_period_so_far_says_when_it_runs_out():
    assert runs_out(sums(at=150), 500, 1_000) == 200
    assert runs_out(sums(at=150), 250, 1_000) is None  # just when the period ends
    assert runs_out(sums(at=150), 251, 1_000) == 299
    assert runs_out(sums(at=150.9), 1_000, 1_000) == 150
    assert runs_out(sums(at=150), 0, 1_000) is None
    assert runs_out(sums(at=100), 5, 1_000) is None  # a pace needs time
    assert runs_out(sums(at=150), 0, 0) == 150


@given(at=st.integers(101, 299), spent=st.integers(1, 999), most=st.integers(1, 1_000))
def test_at_that_pace_it_is_spent_then_and_never_earlier_than_now(at, spent, most):
    found = runs_out(sums(at=at), spent, most)
    if found is None:
        assert spent * 200 <= most * (at - 100)
    else:
        assert min(at, 300) <= found + 1 <= 301
        assert spent >= most or spent * (found + 1 - 100) >= most * (at - 100)


def named(name: str, tokens: int, micro_usd: int) -> Level:
    made = level(sums(spent=Amounts(tokens, micro_usd)))
    return structs.replace(made, name=name)


def test_who_spends_the_most_money_then_tokens_then_by_name():
    keys = [named("d", 1, 1), named("b", 9, 5), named("a", 9, 5), named("c", 99, 5), named("e", 0, 0)]
    assert [one.name for one in top(keys)] == ["c", "a", "b", "d"]
    assert [one.name for one in top(keys, most=2)] == ["c", "a"]
    assert (top(keys)[0].period, top(keys)[0].tokens, top(keys)[0].micro_usd) == ("1d", 99, 5)
