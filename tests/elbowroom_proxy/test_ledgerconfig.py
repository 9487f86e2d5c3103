"""Where sums are kept: what each kind needs, and what it cannot promise."""

from __future__ import annotations

import pytest

from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.errors import InvalidConfig
from elbowroom_proxy.ledgerconfig import LEDGERS, Ledger, check, check_running, check_workers, read


def fault(path: str, what: str) -> InvalidConfig:
    return InvalidConfig(f"{path}: {what}")


def resolve(_: str, word: str | None) -> str | None:
    return "rediss://sums:6379/0" if word == "os.environ/SUMS" else word


def account(**limits: int | str) -> Account:
    return Account("acme", "UTC", (Entity("org", "acme", Limits()), Entity("team", "acme/x", Limits(**limits))))  # type: ignore[arg-type]


def test_an_address_may_come_from_the_environment():
    assert read(Ledger(store="redis", url="os.environ/SUMS"), fault, resolve).url == "rediss://sums:6379/0"
    assert read(Ledger(), fault, resolve) == Ledger()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Ledger(store="etcd"), r"ledger.store: there is no ledger etcd; there are memory, redis"),
        (Ledger(store="redis"), "ledger.url: must begin with redis://"),
        (Ledger(store="redis", url="http://sums"), "ledger.url: must begin with redis://"),
        (Ledger(url="redis://sums"), "ledger: a ledger in memory has no url"),
        (Ledger(cluster=True), "ledger: a ledger in memory has no url and no cluster"),
    ],
)
def test_what_does_not_go_together_is_refused(row, said):
    with pytest.raises(InvalidConfig, match=said):
        read(row, fault, resolve)


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"micro_usd": 5, "period": "1d"}])
def test_sums_of_days_are_not_forgotten_unless_that_is_meant(limits):
    with pytest.raises(InvalidConfig, match=r"acme/x has a limit for 1(d|mo), which a ledger in memory forgets"):
        check(Ledger(), [account(**limits)], fault)
    check(Ledger(volatile=True), [account(**limits)], fault)
    check(Ledger(store="redis", url="redis://sums"), [account(**limits)], fault)


@pytest.mark.parametrize("limits", [{"rpm": 5, "parallel": 1}, {"tokens": 5, "period": "1h"}])
def test_what_is_over_within_the_hour_may_be_forgotten(limits):
    check(Ledger(), [account(**limits)], fault)


@pytest.mark.parametrize("limits", [{"rpm": 5}, {"parallel": 1}, {"tokens": 5}])
def test_several_workers_do_not_keep_limits_in_the_memory_of_each(limits):
    with pytest.raises(InvalidConfig, match="ledger: acme/x is limited, and each of 2 workers with a ledger in memory"):
        check_workers(Ledger(volatile=True), [account(), account(**limits)], 2)
    check_workers(Ledger(), [account(**limits)], 1)
    check_workers(Ledger(), [account()], 2)
    check_workers(Ledger(store="redis", url="redis://sums"), [account(**limits)], 2)


@pytest.mark.parametrize("together", [False, True])
def test_limits_that_come_while_it_runs_are_looked_at_too(together: bool):
    by_month, at_once = [account(tokens=5)], [account(), account(parallel=1)]
    with pytest.raises(InvalidConfig, match="ledger: acme/x has a limit for 1mo"):
        check_running(Ledger(), together=together, accounts=by_month)
    if together:
        with pytest.raises(InvalidConfig, match="ledger: acme/x is limited, and each of"):
            check_running(Ledger(), together=True, accounts=iter(at_once))
    else:
        check_running(Ledger(), together=False, accounts=at_once)
        check_running(Ledger(volatile=True), together=False, accounts=by_month)
    check_running(Ledger(store="redis", url="redis://sums"), together=together, accounts=by_month)


def test_a_ledger_is_a_file():
    assert {"memory", "redis"} <= LEDGERS
