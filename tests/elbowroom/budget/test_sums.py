"""Which sum each limit is held against."""

from __future__ import annotations

from typing import Literal

import pytest

from elbowroom.budget.hold import Amounts, Standing
from elbowroom.budget.limits import Entity, Limits
from elbowroom.budget.sums import LEAST, MOST, Sums, all_standing, checked, nothing_left, overrun, refusing

SUMS = {
    "open": 2,
    "requests": 5,
    "rate_tokens": 700,
    "spent": Amounts(1_000, 90),
    "held": Amounts(500, 10),
    "requests_free": 40,
    "tokens_free": 41,
}


def level(**limits: int) -> Sums:
    return Sums(Entity("team", "acme/support", Limits(**limits)), 33.5, 0, 3600, **SUMS)  # type: ignore[arg-type]


def test_each_limit_has_its_sum_its_question_and_its_time():
    found = all_standing([level(rpm=6, tpm=800, parallel=3, tokens=2_000, micro_usd=100)], Amounts(400, 7, 50), 1)
    common: tuple[str, Literal["team"]] = ("acme/support", "team")
    assert found == (
        Standing(*common, "rpm_limit", 6, 5, 0, 1, 40.0),
        Standing(*common, "tpm_limit", 800, 700, 0, 50, 41.0),
        Standing(*common, "max_parallel_requests", 3, 0, 2, 1, 33.5),
        Standing(*common, "max_tokens", 2_000, 1_000, 500, 400, 3600.0),
        Standing(*common, "max_budget", 100, 90, 10, 7, 3600.0),
    )
    assert [one.limit for one in refusing(found)] == ["max_budget"]


def test_a_level_without_limits_has_none_to_tell_of():
    assert all_standing([level(), level(rpm=9)]) == (Standing("acme/support", "team", "rpm_limit", 9, 5, 0, 0, 40.0),)


@pytest.mark.parametrize(("micro_usd", "refuses"), [(99, True), (100, False)])
def test_what_costs_nothing_is_refused_only_where_more_was_spent_than_there_is(micro_usd, refuses):
    assert bool(refusing(all_standing([level(micro_usd=micro_usd)], LEAST, 1))) is refuses


@pytest.mark.parametrize("name", ["rpm", "tpm", "parallel", "tokens", "micro_usd"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_nothing_is_left_where_a_limit_refuses_the_least_that_can_be_asked(name, more):
    kept = {"rpm": 5, "tpm": 700, "parallel": 2, "tokens": 1_500, "micro_usd": 100}
    found = level(**{name: kept[name] + more})
    assert nothing_left(found) is bool(refusing(all_standing([found], LEAST, 1)))


def test_where_nothing_is_limited_something_is_left():
    assert not nothing_left(level())


def test_an_overrun_is_what_is_above_each_part_of_the_hold():
    assert overrun(Amounts(10, 10, 10), Amounts(11, 9, 13)) == Amounts(1, 0, 3)


@pytest.mark.parametrize("amounts", [Amounts(-1), Amounts(micro_usd=MOST + 1), Amounts(rate_tokens=-1)])
def test_what_no_request_can_come_to_is_refused(amounts):
    with pytest.raises(ValueError, match="is not from 0"):
        checked(amounts)
    assert checked(Amounts(MOST, MOST, 0)) == Amounts(MOST, MOST, 0)
