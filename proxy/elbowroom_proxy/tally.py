"""What organisations, teams and keys have spent and have left, for operators; every reading is itself recorded.

Knows: which levels there are, that a reader with a tenant or an organisation sees its own only, and that a ledger which
serves requests is asked for a few levels at a time.
Does not know: where sums are kept, what follows from them (`budget.view`), which roles read (`readers`), HTTP.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from elbowroom.account.search import Scope
from elbowroom.budget.limits import Account
from elbowroom.budget.orgs import Unit
from elbowroom.budget.sums import Sums
from elbowroom.budget.view import Budgets, Level, Org, Team, level, top
from elbowroom.errors import TraceUnavailable
from elbowroom.records import Principal
from elbowroom_proxy.desk import always, reading
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.ports import Ledger
from elbowroom_proxy.readers import scope

AT_ONCE = 64  # levels that are asked for in one go: holds wait no longer than that


class Tally:
    """Asked by `/admin/budgets` and by the command line alike."""

    def __init__(
        self,
        ledger: Ledger,
        directory: Callable[[], Directory],
        keep: Callable[[Mapping[str, Any]], bool],
        *,
        store: str,
        ready: Callable[[], Awaitable[bool]] = always,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`keep` records a reading, False where it cannot; `ready`: whether what it takes would reach the disk now.
        `now`: seconds since 1970.
        """
        self._ledger = ledger
        self._directory = directory
        self._keep = keep
        self._ready = ready
        self._store = store
        self._now = now
        self._of: Directory | None = None
        self._accounts: Mapping[str, tuple[Account, ...]] = {}

    async def budgets(self, reader: Principal, *, org: str | None = None, team: str | None = None) -> Budgets:
        """Of every organisation and team, or of those with that name.

        Raises `RoleNotAllowed`; `LedgerUnavailable` where the sums cannot be read, `TraceUnavailable` where the reading
        cannot be recorded.
        """
        whose, directory = scope(reader), self._directory()
        orgs, seen = [], 0
        for name, unit in directory.orgs.orgs.items():
            if org not in (None, name) or whose.org not in (None, name):
                continue
            visible = {one.account.entities[-1].name for one in _units(directory, name) if _seen(one, whose)}
            levels = {(one.kind, one.name): one for one in map(level, await self._sums(directory, name))}
            told: dict[tuple[str, str], Level] = {at: one for at, one in levels.items() if one.name in visible}
            if told:
                orgs.append(_org(directory, name, unit, told, team))
                seen += len(told)
        sought = {name: word for name, word in (("org", org), ("team", team)) if word is not None}
        if not await self._ready() or not self._keep(
            reading("budgets", reader, self._now(), found=seen, sought=sought)
        ):
            raise TraceUnavailable("This reading cannot be recorded at the moment, so it is none. Try again.")
        return Budgets(round(self._now()), self._store, tuple(orgs), self._ledger.faults())

    async def _sums(self, directory: Directory, org: str) -> list[Sums]:
        """Of every level of the organisation."""
        if self._of is not directory:
            # A ledger remembers accounts that it has seen, so they are made once.
            self._of, self._accounts = directory, {name: accounts(directory, name) for name in directory.orgs.orgs}
        return [sums for account in self._accounts[org] for sums in await self._ledger.sums(account)]


def accounts(directory: Directory, org: str) -> tuple[Account, ...]:
    """Every level of the organisation once, some in each: what is asked of a ledger in one go."""
    entities = [unit.account.entities[-1] for unit in _units(directory, org)]
    timezone = directory.orgs.orgs[org].account.timezone
    some = (entities[at : at + AT_ONCE] for at in range(0, len(entities), AT_ONCE))
    return tuple(Account(org, timezone, tuple(one)) for one in some)


def _units(directory: Directory, org: str) -> Iterator[Unit]:
    yield directory.orgs.orgs[org]
    yield from (unit for (above, _), unit in directory.orgs.teams.items() if above == org)
    yield from (unit for unit in directory.units.values() if unit.account.org == org)


def _seen(unit: Unit, whose: Scope) -> bool:
    return whose.tenant is None or unit.rights.tenant == whose.tenant


def _org(directory: Directory, name: str, unit: Unit, told: Mapping[tuple[str, str], Level], wanted: str | None) -> Org:
    teams = []
    for above, team in directory.orgs.teams:
        whole = f"{above}/{team}"
        if above == name and wanted in (None, team):
            keys = tuple(one for one in told.values() if one.kind == "key" and one.name.rpartition("/")[0] == whole)
            own = told.get(("team", whole))
            if own is not None or keys:
                teams.append(Team(whole, own, keys))
    return Org(name, unit.account.timezone, told.get(("org", name)), tuple(teams), top(_keys(teams)))


def _keys(teams: Iterable[Team]) -> Iterator[Level]:
    return (key for team in teams for key in team.keys)
