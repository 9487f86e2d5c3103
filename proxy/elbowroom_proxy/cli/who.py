"""Organisations, teams and keys in words: what each may spend, what each may do, and which limit nothing fits into.

Knows: how limits and rights are said, which models no money limits, and where in the files each of them stands.
Does not know: what holds (`directory`, `budget.orgs`), or how large a hold is (`budget.smallest`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from elbowroom.budget.limits import Entity, Limits
from elbowroom.budget.orgs import Unit
from elbowroom.budget.rights import Fault, Rights
from elbowroom.budget.smallest import Asking, TooSmall, too_small
from elbowroom_proxy import directory, membership
from elbowroom_proxy.cli.render import line
from elbowroom_proxy.settings import Settings

PERIODS = {"1h": "an hour", "1d": "a day", "1mo": "a month"}


def told(read: Settings) -> Iterator[str]:
    """One line each, teams below their organisation, keys below them all."""
    found = read.directory
    for name, org in found.orgs.orgs.items():
        yield line("org", f"{name}, {org.account.timezone}: {_said(org)}")
        for (above, _), team in found.orgs.teams.items():
            if above == name:
                yield line("team", f"{team.account.entities[-1].name}: {_said(team)}")
    for row in found.rows:
        unit = found.units.get(row.name)
        whose = "/".join(one for one in (row.org, row.team, row.name) if one)
        role = "" if row.role == "user" else f"{row.role}; "
        may = "asks no models" if unit is None else _said(unit)
        yield line("key", f"{whose}: {'blocked; ' if row.blocked else ''}{role}{may}")


def unpriced(read: Settings) -> Iterator[str]:
    """Models without a price that somebody may use whose money is limited: they cost nothing there."""
    for model in read.catalog.models:
        names = [
            entity.name
            for unit in (*read.directory.orgs.teams.values(), *read.directory.units.values())
            if model.price is None and (unit.rights.models is None or model.name in unit.rights.models)
            for entity in unit.account.entities
            if entity.limits.micro_usd is not None
        ]
        if names:
            whose = ", ".join(dict.fromkeys(names))
            yield f"{model.name} has no price, so its requests cost nothing, whatever the max_budget of {whose}"


def small(read: Settings, file: Path) -> Iterator[str]:
    """Limits that are smaller than one hold, each with its line; `file` is elbowroom.yaml."""
    units = (*read.directory.orgs.teams.values(), *read.directory.units.values())
    found = too_small((_asking(unit, read) for unit in units), read.counters)
    places = _places(read, file.parent) if found else {}
    for one in found:
        yield places[one.entity](one)


def _asking(unit: Unit, read: Settings) -> Asking:
    rights = unit.rights
    policy = read.policy if rights.policy is None else read.policies[rights.policy]
    models = read.catalog.models if rights.models is None else map(read.catalog.find, rights.models)
    names = (one.name for one in policy.classes) if rights.classes is None else rights.classes
    reserve = min(policy.query_class(name).answer_reserve for name in (*names, policy.default_class))
    return Asking(unit.account, tuple(models), rights.output_cap or policy.answer.output_cap, reserve)


class _Place:
    """Where one level stands."""

    def __init__(self, fault: Fault, at: str) -> None:
        self.fault, self.at = fault, at

    def __call__(self, one: TooSmall) -> str:
        unit = "USD" if one.limit == "max_budget" else "tokens"
        most, least = (usd(n) if unit == "USD" else f"{n:,}" for n in (one.most, one.least))
        mend = "no output_cap would help" if one.cap is None else f"an output_cap of {one.cap} would mend it"
        what = f"{most} {unit} is less than one hold of {one.model}, {least} where a client names no maximum; {mend}"
        return self.fault(f"{self.at}.{one.limit}", what).message


def _places(read: Settings, folder: Path) -> dict[str, _Place]:
    """By the name of the level."""
    found: dict[str, _Place] = {}
    marked = membership.orgs(folder, read.general.orgs)
    assert marked is not None  # noqa: S101 -- there are levels, and that is where they come from
    for i, org in enumerate(marked.value.orgs):
        found[org.name] = _Place(marked.fault, f"orgs[{i}]")
        for j, team in enumerate(org.teams):
            found[f"{org.name}/{team.name}"] = _Place(marked.fault, f"orgs[{i}].teams[{j}]")
    text = None if read.keys_file is None else directory.kept(read.keys_file)
    for i, row in enumerate(read.directory.rows if text is not None else ()):
        fault = directory.faults(text or b"", str(read.keys_file))
        found[f"{row.org}/{row.team}/{row.name}"] = _Place(fault, f"keys[{i}]")
    return found


def _said(unit: Unit) -> str:
    return "; ".join((*_limits(unit.account.entities[-1]), *_rights(unit.rights)))


def _limits(entity: Entity) -> Iterator[str]:
    limits = entity.limits
    if limits == Limits(period=limits.period):
        yield "no limits of its own"
        return
    period = PERIODS[limits.period]
    for number, unit in (
        (limits.rpm, "requests a minute"),
        (limits.tpm, "tokens a minute"),
        (limits.parallel, "requests at once"),
        (limits.tokens, f"tokens {period}"),
    ):
        if number is not None:
            yield f"{number:,} {unit}"
    if limits.micro_usd is not None:
        yield f"{usd(limits.micro_usd)} USD {period}"


def _rights(rights: Rights) -> Iterator[str]:
    for names, many in ((rights.models, "models"), (rights.classes, "classes"), (rights.tools, "tools")):
        if names is not None or many == "models":
            yield f"any of the {many}" if names is None else f"{many} {', '.join(names) or 'none'}"
    if rights.tenant is not None:
        yield f"tenant {rights.tenant}"
    if rights.groups:
        yield f"groups {', '.join(rights.groups)}"
    if rights.clearance is not None:
        yield f"cleared up to {rights.clearance}"
    for kind, rule in (rights.on_missing_label or {}).items():
        yield f"without a label, {kind}: {rule}"
    if rights.policy is not None:
        yield f"policy {rights.policy}"
    if rights.mode is not None:
        yield f"mode {rights.mode}"
    if rights.output_cap is not None:
        yield f"answers of {rights.output_cap:,} tokens where no maximum is named"


def usd(micro: int) -> str:
    """Micro-USD as USD."""
    whole, rest = divmod(micro, 1_000_000)
    return f"{whole:,}" + f".{rest:06d}".rstrip("0").rstrip(".")
