from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.decide.rollout import Stage, stage
from elbowroom.read.policy import Policy, Rollout
from elbowroom.records import Mode, Principal

KEY = b"k" * 32
ANYBODY = Principal()
NAMES = [f"conversation {number}" for number in range(2_000)]


def staged(percent: float, name: str | None, principal: Principal = ANYBODY, **more: Any) -> Stage:
    policy = Policy(rollout=Rollout(enforce_percent=percent, **more))
    return stage(policy, principal, name, key=KEY, killed=False)


def enforced(percent: float) -> set[str]:
    return {name for name in NAMES if staged(percent, name).mode is Mode.ENFORCE}


def test_everybody_is_enforced_where_nothing_is_said_and_nobody_at_nought() -> None:
    assert staged(100, "c") == Stage(Mode.ENFORCE)
    assert enforced(0) == set()


def test_about_so_many_percent_are_enforced() -> None:
    for percent in (1, 10, 50, 90):
        share = 100 * len(enforced(percent)) / len(NAMES)
        assert abs(share - percent) < 4, share


@given(st.text(), st.floats(0, 100), st.floats(0, 100))
def test_raising_the_percentage_takes_nobody_out(name: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    if staged(low, name).mode is Mode.ENFORCE:
        assert staged(high, name).mode is Mode.ENFORCE


def test_who_is_outside_is_in_shadow_and_the_record_can_say_why() -> None:
    (name, *_) = set(NAMES) - enforced(50)
    found = staged(50, name)
    assert found.mode is Mode.SHADOW
    assert found.cohort is not None
    assert (found.cohort.by, found.cohort.percent, found.cohort.inside) == ("conversation", 50, False)
    assert 50 <= found.cohort.at < 100


def test_what_is_not_a_conversation_goes_with_its_key() -> None:
    places = {
        staged(50, name, Principal(subject), by=by).cohort
        for subject, name, by in (("a", None, "conversation"), ("a", None, "key"), ("a", "c", "key"), ("a", "d", "key"))
    }
    assert len(places) == 1
    assert staged(50, None, Principal("b")).cohort not in places


def test_a_place_is_another_s_under_another_policy_tenant_organisation_or_secret() -> None:
    policy = Policy(rollout=Rollout(enforce_percent=50))
    principals = (Principal(), Principal(tenant="acme"), Principal(org="acme"))
    found = {staged(50, "c", one).cohort for one in principals}
    found.add(stage(structs.replace(policy, id="b"), Principal(), "c", key=KEY, killed=False).cohort)
    found.add(stage(policy, Principal(), "c", key=b"l" * 32, killed=False).cohort)
    assert len(found) == 5


def test_a_mode_of_the_key_is_final() -> None:
    for mode in Mode:
        assert staged(50, "c", Principal(mode=mode)) == Stage(mode)


def test_a_policy_that_does_not_enforce_draws_nobody() -> None:
    policy = Policy(mode=Mode.SHADOW, rollout=Rollout(enforce_percent=50))
    assert stage(policy, Principal(), "c", key=KEY, killed=False) == Stage(Mode.SHADOW)


def test_killed_is_the_baseline_whatever_anybody_says() -> None:
    for principal in (Principal(), Principal(mode=Mode.ENFORCE)):
        found = stage(Policy(), principal, "c", key=KEY, killed=True)
        assert found == Stage(Mode.PASSTHROUGH, killed=True)


def test_a_policy_is_read_in_the_mode_of_the_stage() -> None:
    policy = Policy(digest="d")
    assert Stage(Mode.ENFORCE).of(policy) is policy
    other = Stage(Mode.SHADOW).of(policy)
    assert (other.mode, other.digest) == (Mode.SHADOW, "d")
