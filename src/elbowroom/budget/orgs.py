"""Organisations and their teams, as an operator writes them: who is limited to what, and who may do what.

Knows: the shape of orgs.yaml (LiteLLM's words), what a level inherits, and that money is exact.
Does not know: keys, what has been spent, where the file lies, or whether a time zone exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from elbowroom.budget.limits import Account, Entity, Limits, Period
from elbowroom.budget.rights import Fault, Rights, Written, resolved
from elbowroom.read.policy import Config
from elbowroom.read.yaml import Marked

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
# A ledger's sums stay exact in a double, whatever it is written in.
Count = Annotated[int, Meta(ge=0, le=10**14)]
Usd = Annotated[float, Meta(ge=0, le=10**8)]


class Level(Rights, frozen=True, kw_only=True):
    """What each level may say: limits of its own, and rights."""

    rpm_limit: Count | None = None
    tpm_limit: Count | None = None
    max_parallel_requests: Count | None = None
    max_tokens: Count | None = None
    max_budget: Usd | None = None
    budget_duration: Literal["1h", "1d", "1mo", "30d"] | None = None


class TeamRow(Level, frozen=True, kw_only=True):
    """One entry of an organisation's `teams`."""

    name: Name


class OrgRow(Level, frozen=True, kw_only=True):
    """One entry of `orgs`."""

    name: Name
    timezone: str = "UTC"
    teams: tuple[TeamRow, ...] = ()


class OrgsFile(Config, frozen=True):
    """orgs.yaml, whole."""

    orgs: tuple[OrgRow, ...] = ()


class Unit(Struct, frozen=True):
    """One organisation, or one of its teams: what it may, and whom its requests are charged to."""

    rights: Rights
    account: Account


class Orgs(Struct, frozen=True):
    """All of them. Swapped whole when the file changes."""

    orgs: Mapping[str, Unit] = {}
    teams: Mapping[tuple[str, str], Unit] = {}  # by the names of organisation and team

    def find(self, org: str | None, team: str | None) -> Unit | None:
        """The team, or the organisation where no team is named; None where there is none."""
        if org is None:
            return None
        return self.orgs.get(org) if team is None else self.teams.get((org, team))


def read(marked: Marked[OrgsFile], written: Written) -> Orgs:
    """Checked against what there is. Raises `InvalidConfig` with file and line."""
    orgs: dict[str, Unit] = {}
    teams: dict[tuple[str, str], Unit] = {}
    for i, org in enumerate(marked.value.orgs):
        at = f"orgs[{i}]"
        if org.name in orgs:
            raise marked.fault(f"{at}.name", f"there is another organisation {org.name}")
        unit = orgs[org.name] = Unit(
            resolved(at, Rights(), org, written, marked.fault),
            Account(org.name, org.timezone, (Entity("org", org.name, limits(at, org, "1mo", marked.fault)),)),
        )
        for j, team in enumerate(org.teams):
            inner = f"{at}.teams[{j}]"
            if (org.name, team.name) in teams:
                raise marked.fault(f"{inner}.name", f"there is another team {team.name}")
            teams[org.name, team.name] = below(inner, unit, "team", team.name, team, written, marked.fault)
    return Orgs(orgs, teams)


def below(
    at: str, above: Unit, kind: Literal["team", "key"], name: str, own: Level, written: Written, fault: Fault
) -> Unit:
    """The level `own`, written at `at`, inside the level `above`. Raises what `fault` makes of a mistake."""
    last = above.account.entities[-1]
    entity = Entity(kind, f"{last.name}/{name}", limits(at, own, last.limits.period, fault))
    account = Account(above.account.org, above.account.timezone, (*above.account.entities, entity))
    return Unit(resolved(at, above.rights, own, written, fault), account)


def limits(at: str, own: Level, period: Period, fault: Fault) -> Limits:
    """Its own limits; `period` is inherited. Raises what `fault` makes of a mistake."""
    said = own.budget_duration or period
    return Limits(
        rpm=own.rpm_limit,
        tpm=own.tpm_limit,
        parallel=own.max_parallel_requests,
        tokens=own.max_tokens,
        micro_usd=None if own.max_budget is None else _micro_usd(f"{at}.max_budget", own.max_budget, fault),
        period="1mo" if said == "30d" else said,
    )


def _micro_usd(path: str, usd: float, fault: Fault) -> int:
    """Exactly what the decimal number says."""
    amount = Decimal(repr(usd)) * 10**6
    if amount != int(amount):
        raise fault(path, "is money, in USD: six digits behind the point at most")
    return int(amount)
