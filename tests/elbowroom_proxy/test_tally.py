"""Budgets for operators: each level once, a reader's own only, and no reading goes unrecorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from elbowroom.account.row import row as row_of
from elbowroom.budget.hold import Amounts, Hold
from elbowroom.budget.view import Budgets, Sum, Top
from elbowroom.errors import RoleNotAllowed, TraceUnavailable
from elbowroom_proxy import settings, tally
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.sinks.line import encode
from elbowroom_proxy.stores.ledger_memory import MemoryLedger
from elbowroom_proxy.tally import Tally
from tests.holders import keys_text, row
from tests.ledgers import NOON, Clock
from tests.records import AUDITOR

ORGS = {
    "orgs": [
        {
            "name": "acme",
            "timezone": "Europe/Berlin",
            "max_budget": 9,
            "clearance": "public",
            "teams": [{"name": "support", "max_tokens": 1_000, "tenant": "a"}, {"name": "sales", "tenant": "b"}],
        },
        {"name": "globex", "teams": [{"name": "support", "rpm_limit": 3}]},
    ]
}


def directory(folder: Path) -> Directory:
    ledger = {"ledger": {"volatile": True}}
    models = [{"model_name": "m", "litellm_params": {"model": "gpt-4o"}}]
    (folder / "elbowroom.yaml").write_text(json.dumps({"model_list": models, "general_settings": ledger}))
    (folder / "orgs.yaml").write_text(json.dumps(ORGS))
    keys = [
        row("bot", "sk-eb-1", max_parallel_requests=2),
        row("ann", "sk-eb-2", team="sales"),
        row("sue", "sk-eb-3", team="support", org="globex"),
    ]
    (folder / "keys.yaml").write_text(keys_text(*keys))
    return settings.load(folder / "elbowroom.yaml", environ={}).directory


class Office:
    def __init__(self, folder: Path):
        clock = Clock()
        self.directory = directory(folder)
        self.ledger = MemoryLedger(clock=clock)
        self.readings: list[Any] = []
        self.full = False
        self.ready = True
        self.tally = Tally(
            self.ledger, lambda: self.directory, self._keep, store="memory", ready=self._ready, now=clock
        )

    def _keep(self, record) -> bool:
        self.readings.append(record)
        return not self.full

    async def _ready(self) -> bool:
        return self.ready

    async def spend(self, key: str, tokens: int, micro_usd: int) -> None:
        account = self.directory.units[key].account
        await self.ledger.hold(Hold(key, account, Amounts(tokens, micro_usd)), seconds=60)
        await self.ledger.settle(key, account, Amounts(tokens, micro_usd))


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def names(found: Budgets) -> list[str]:
    """Every level that is shown, in order."""
    return [
        one.name
        for org in found.orgs
        for one in (org.level, *(level for team in org.teams for level in (team.level, *team.keys)))
        if one is not None
    ]


async def test_every_level_is_told_once_below_its_own(office: Office):
    await office.spend("bot", 30, 5)
    found = await office.tally.budgets(AUDITOR)
    assert names(found) == [
        "acme", "acme/support", "acme/support/bot", "acme/sales", "acme/sales/ann",
        "globex", "globex/support", "globex/support/sue",
    ]  # fmt: skip
    acme = found.orgs[0]
    assert (found.at, found.store, found.faults, acme.timezone) == (NOON, "memory", (), "Europe/Berlin")
    assert acme.level is not None
    assert (acme.level.spent, acme.level.limits[0].remaining) == (Sum(30, 5), 9_000_000 - 5)
    assert acme.top_keys == (Top("acme/support/bot", "1mo", 30, 5),)
    assert [one.level.spent for one in acme.teams if one.level is not None] == [Sum(30, 5), Sum()]


async def test_one_organisation_or_team_may_be_asked_for(office: Office):
    assert names(await office.tally.budgets(AUDITOR, org="globex")) == [
        "globex",
        "globex/support",
        "globex/support/sue",
    ]
    assert names(await office.tally.budgets(AUDITOR, org="acme", team="sales")) == [
        "acme", "acme/sales", "acme/sales/ann",
    ]  # fmt: skip
    assert (await office.tally.budgets(AUDITOR, org="none")).orgs == ()
    assert [(one["read"]["action"], one["read"]["found"]) for one in office.readings] == [
        ("budgets", 3), ("budgets", 5), ("budgets", 0),
    ]  # fmt: skip
    line = row_of(encode(office.readings[1]))
    assert line is not None
    assert (line.kind, line.subject, line.read) == ("read", "ann", "budgets org=acme team=sales: 5")


async def test_a_reader_with_a_tenant_or_an_organisation_sees_its_own(office: Office):
    await office.spend("bot", 30, 5)
    await office.spend("ann", 99, 99)
    own = await office.tally.budgets(structs.replace(AUDITOR, tenant="a"))
    assert names(own) == ["acme/support", "acme/support/bot"]
    assert [one.name for one in own.orgs[0].top_keys] == ["acme/support/bot"]
    theirs = await office.tally.budgets(structs.replace(AUDITOR, org="globex"))
    assert names(theirs) == ["globex", "globex/support", "globex/support/sue"]
    assert names(await office.tally.budgets(structs.replace(AUDITOR, org="globex"), org="acme")) == []
    assert names(await office.tally.budgets(structs.replace(AUDITOR, tenant="nobody"))) == []


async def test_without_a_role_nothing_is_read_and_nothing_recorded(office: Office):
    with pytest.raises(RoleNotAllowed):
        await office.tally.budgets(structs.replace(AUDITOR, role="user"))
    assert office.readings == []


async def test_what_cannot_be_recorded_is_not_read(office: Office):
    office.full = True
    with pytest.raises(TraceUnavailable):
        await office.tally.budgets(AUDITOR)
    office.full, office.ready = False, False  # it would be taken, and lost on its way to the disk
    with pytest.raises(TraceUnavailable):
        await office.tally.budgets(AUDITOR)


async def test_a_ledger_is_asked_for_a_few_levels_at_a_time_by_accounts_that_are_made_once(office: Office, monkeypatch):
    monkeypatch.setattr(tally, "AT_ONCE", 2)
    asked = []
    sums = office.ledger.sums

    async def noted(account):
        asked.append(account)
        return await sums(account)

    monkeypatch.setattr(office.ledger, "sums", noted)
    first = await office.tally.budgets(AUDITOR, org="acme")
    assert [len(one.entities) for one in asked] == [2, 2, 1]
    assert names(first) == ["acme", "acme/support", "acme/support/bot", "acme/sales", "acme/sales/ann"]
    await office.tally.budgets(AUDITOR, org="acme")
    assert [one is other for one, other in zip(asked[:3], asked[3:], strict=True)] == [True] * 3
    office.directory = structs.replace(office.directory)
    await office.tally.budgets(AUDITOR, org="acme")
    assert asked[6] is not asked[0]
