"""Charges as records tell them: each once, in its period, and nothing that the ledger has already."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from elbowroom.account.charged import Added, Charge, charge
from elbowroom.account.trace import Aside, Facts, Held, Settlement, record
from elbowroom.budget.hold import Amounts
from elbowroom.budget.limits import Entity, Limits
from elbowroom.budget.sums import NOTHING, Sums
from elbowroom.records import Principal

BOT = Principal("bot", org="acme", team="support", key="bot", keyed=True)
TEN = 1_772_359_200.0  # 1 March 2026, 10:00 UTC
ORG, TEAM, KEY = ("org", "acme"), ("team", "acme/support"), ("key", "acme/support/bot")


def story(**more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "principal": BOT,
        "hold": Held("granted", 10, "counted", 90, Amounts(100, 9, 100)),
        "settlement": Settlement("usage", "settled", Amounts(30, 3, 30)),
        "timings_ms": {"overhead": 500.0, "total": 2_000.0},
        **more,
    }
    told = record(None, Facts(trace_id="t", time="2026-03-01T10:00:00.000+00:00", **facts))
    return msgspec.json.decode(msgspec.json.encode(told))


def test_a_record_says_whom_it_was_charged_to_when_and_how_much():
    assert charge(story()) == Charge("t", TEN + 0.5, TEN + 2.0, (ORG, TEAM, KEY), Amounts(30, 3))


def test_a_token_has_no_key_of_its_own():
    found = charge(story(principal=Principal("ann", org="acme", team="support", keyed=True)))
    assert found is not None
    assert found.levels == (ORG, TEAM)


@pytest.mark.parametrize(
    "more",
    [
        {"principal": None},
        {"principal": Principal()},
        {"principal": Principal("boss", org="acme", role="admin")},
        {"hold": None},
        {"settlement": None},
        {"settlement": Settlement("usage", "too_old", Amounts(30, 3))},
    ],
)
def test_who_was_charged_nothing_has_no_charge(more):
    assert charge(story(**more)) is None


@pytest.mark.parametrize("state", ["settled", "late", "unknown", "pending", "again", "released"])
def test_what_was_settled_late_or_is_still_to_be_is_charged(state):
    found = charge(story(settlement=Settlement("usage", state, Amounts(30, 3))))
    assert found is not None
    assert found.amounts == Amounts(30, 3)


def test_calls_beside_the_answer_are_charged_and_what_nobody_knows_of_them_is_counted():
    asides = (
        Aside("summary", "m", micro_usd=4, prompt_tokens=20, completion_tokens=5),
        Aside("summary", "m", cached=True, prompt_tokens=1_000),
        Aside("rerank", "http", micro_usd=2),
        Aside("rerank", "lexical"),
        Aside("compress", "m", failed="it did not answer in time"),
        Aside("compress", "m"),  # it answered, and did not say what that took
    )
    found = charge(story(asides=asides))
    assert found is not None
    assert (found.amounts, found.unsaid) == (Amounts(55, 9), 2)


def test_where_only_requests_are_limited_nothing_beside_is_charged():
    aside = (Aside("summary", "m", micro_usd=4, prompt_tokens=20),)
    held = Held("granted", 10, "counted", 90, Amounts())
    found = charge(story(asides=aside, hold=held, settlement=Settlement("delivered", "settled")))
    assert found is not None
    assert (found.amounts, found.unsaid) == (Amounts(), 0)
    # An answer of the proxy's own holds nothing, and what was asked before it is charged.
    found = charge(story(asides=aside, hold=Held("granted", 0, "counted", 0, Amounts())))
    assert found is not None
    assert found.amounts == Amounts(50, 7)


def test_what_is_no_record_is_said_to_be_none():
    with pytest.raises(ValueError, match="Expected"):
        charge({"trace_id": 5})


def sums(level: tuple[str, str], spent: Amounts = NOTHING, start: float = TEN, at: float = TEN + 60) -> Sums:
    return Sums(Entity(level[0], level[1], Limits()), at, int(start), int(TEN) + 3600, spent=spent)  # type: ignore[arg-type]


def one(ident: str, at: float, ended: float | None = None, *levels: tuple[str, str], unsaid: int = 0) -> Charge:
    return Charge(ident, TEN + at, TEN + (at if ended is None else ended), levels or (ORG, KEY), Amounts(10, 1), unsaid)


def test_each_charge_counts_once_at_each_of_its_levels_in_their_periods():
    added = Added([sums(ORG, start=TEN - 100), sums(KEY), sums(TEAM)])
    added.add([one("a", 1), one("b", -50), one("a", 1), one("c", -101), one("d", 5, None, ("org", "globex"))])
    assert added.spent == (Amounts(20, 2), Amounts(10, 1), Amounts())
    assert (added.charges, added.unsaid) == (2, 0)


def test_what_ended_after_the_ledger_was_asked_is_there_already():
    added = Added([sums(ORG)])
    added.add([one("a", 1, 60, unsaid=1), one("b", 1, 60.5, unsaid=1)])
    assert (added.spent, added.unsaid) == ((Amounts(10, 1),), 1)


def test_sums_are_not_lowered_unless_that_is_meant():
    added = Added([sums(ORG, Amounts(50, 0)), sums(KEY, Amounts(5, 5))])
    added.add([one("a", 1)])
    assert added.restored(lower=False) == (Amounts(50, 1), Amounts(10, 5))
    assert added.restored(lower=True) == (Amounts(10, 1), Amounts(10, 1))
