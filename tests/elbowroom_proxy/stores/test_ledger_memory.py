"""What only the ledger in this process does; what all ledgers do is in tests/contract/test_ledgers.py."""

from __future__ import annotations

from elbowroom.budget.hold import Amounts, Hold
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.sums import KEPT
from elbowroom_proxy.stores.ledger_memory import MemoryLedger

ACCOUNT = Account("acme", "UTC", (Entity("org", "acme", Limits(period="1h")),))


async def test_what_nobody_can_ask_for_any_more_is_forgotten():
    now = [0.0]
    ledger = MemoryLedger(clock=lambda: now[0])
    await ledger.hold(Hold("a", ACCOUNT, Amounts(5)), seconds=60)
    await ledger.settle("a", ACCOUNT, Amounts(5))
    kept = ledger._orgs["acme"]
    now[0] = 3600.0 + KEPT  # a new period, and the first may still be settled in
    await ledger.sums(ACCOUNT)
    assert (len(kept.spent), len(kept.holds)) == (2, 0)
    now[0] += 3600.0
    await ledger.sums(ACCOUNT)
    assert len(kept.spent) == 2


async def test_it_is_well_as_long_as_it_is_there():
    ledger = MemoryLedger()
    await ledger.start()
    assert await ledger.healthy()
    assert ledger.faults() == ()
    await ledger.close()
