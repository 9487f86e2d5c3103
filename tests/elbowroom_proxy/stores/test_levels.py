"""Names of keys: one version, one slot, and two periods to choose from."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import msgspec
import pytest
from redis.crc import key_slot

from elbowroom.budget.limits import Account, Limits
from elbowroom.budget.period import Calendar
from elbowroom_proxy.stores.levels import SKEW, Levels, levels, prefix
from tests.ledgers import NOON, account

THREE = account(Limits(rpm=1, period="1h"), Limits(tpm=2, parallel=3, period="1d"), Limits(tokens=4, micro_usd=0))


def found(at: float, who: Account = THREE) -> Levels:
    return levels(who, Calendar(ZoneInfo), at)


def test_every_level_has_its_live_part_and_the_sums_of_two_periods():
    keys = found(NOON + 60).keys
    noon = int(NOON)
    assert keys[:3] == (
        "eb:ldg:1:{acme}:l:o:acme",
        f"eb:ldg:1:{{acme}}:s:o:acme:1h:{noon}",
        f"eb:ldg:1:{{acme}}:s:o:acme:1h:{noon + 3600}",
    )
    assert len(set(keys)) == 9


def test_a_script_is_told_minus_one_where_nothing_is_limited():
    rows = msgspec.msgpack.decode(found(NOON + 60).limits)
    assert [row[:5] for row in rows] == [[1, -1, -1, -1, -1], [-1, 2, 3, -1, -1], [-1, -1, -1, 4, 0]]
    assert rows[0][5:] == [NOON, NOON + 3600, NOON + 7200]


def test_just_after_a_period_began_the_one_before_may_still_be_chosen():
    before, after = found(NOON + SKEW - 0.1), found(NOON + SKEW)
    assert (before.spans[0].start, after.spans[0].start) == (NOON - 3600, NOON)
    assert before.until == NOON + SKEW
    assert before.present(NOON - 1).keys[1] == before.keys[1]
    assert before.present(NOON).keys[1] == before.keys[2] == after.keys[1]
    assert before.present(NOON).ends[0] == NOON + 3600
    assert before.lines([1, 0, 0]) == before.present(NOON)


@pytest.mark.parametrize("org", ["acme", "{", "}", "{}", "", "a}b{c", "组织", "a b\n"])
def test_an_organisation_is_one_slot_whatever_it_is_called(org: str):
    keys = (*found(NOON, account(Limits(), Limits(), Limits(), org=org)).keys, f"{prefix(org)}open")
    assert all(key.isascii() and not {" ", "\n"} & set(key) for key in keys)
    assert len({key_slot(key.encode()) for key in keys}) == 1


def test_nobody_has_no_keys():
    nobody = found(NOON, Account("acme", "UTC", ()))
    assert (nobody.keys, nobody.since, nobody.until) == ((), NOON, NOON + SKEW)
