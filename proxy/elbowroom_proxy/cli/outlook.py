"""`elbowroom budgets explain`: which levels limit a key, what is left at each, and what its next request would meet.

Knows: how a key is named without being shown, and the words for a limit that refuses.
Does not know: where the sums come from (`till`), or how much a request asks for (`budget.ahead`).
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from msgspec import Struct

from elbowroom.budget.ahead import Ahead, ahead
from elbowroom.budget.hold import Standing
from elbowroom.budget.orgs import Unit
from elbowroom.budget.smallest import least_prompt
from elbowroom.budget.view import Budgets, Level
from elbowroom.records import Model
from elbowroom_proxy.cli import till
from elbowroom_proxy.cli.keys import BEGINS, SHOWN
from elbowroom_proxy.cli.render import printable
from elbowroom_proxy.cli.standing import amount, moment, table
from elbowroom_proxy.directory import Directory, KeyRow
from elbowroom_proxy.settings import Settings

_COUNTS = {"max_budget": "micro_usd"}


class Unknown(Exception):
    """Nobody is meant, or more than one; the message says why."""


class Asker(Struct, frozen=True):
    """Whose requests are meant."""

    name: str  # as it is said
    unit: Unit
    row: KeyRow | None = None  # None: tokens of an issuer that name this team


def lines(args: Namespace, configured: Settings) -> Iterator[str]:
    """Raises `Unknown`, and what `till.budgets` does."""
    who = found(configured.directory, args.key)
    account = who.unit.account
    team = account.entities[1].name.rpartition("/")[2]
    read = till.budgets(configured, args.url, org=account.org, team=team)
    names = [entity.name for entity in account.entities]
    levels = [one for one in _levels(read) if one.name in names]
    yield from told(who, levels, read.at)
    if len(levels) == len(names):
        yield ""
        yield from _next(who, levels, configured, args.prompt, args.model)


def found(directory: Directory, word: str) -> Asker:
    """The key of that name, or that begins so; or the team, for tokens that name it. Raises `Unknown`."""
    if word.startswith(BEGINS) and len(word) > len(BEGINS) + SHOWN:
        raise Unknown(
            f"That is more of a key than should stand in a shell's history: its name will do, or {BEGINS} and "
            f"{SHOWN} characters."
        )
    begins = word.removeprefix(BEGINS) if word.startswith(BEGINS) and len(word) == len(BEGINS) + SHOWN else None
    rows = [row for row in directory.rows if row.name == word] or [
        row for row in directory.rows if begins and any(one.prefix == begins for one in row.secrets)
    ]
    if len(rows) > 1:
        raise Unknown(f"Keys that begin so have {', '.join(row.name for row in rows)}; say which.")
    if rows:
        unit = directory.units.get(rows[0].name)
        if unit is None:
            raise Unknown(f"{rows[0].name} is of no team: it asks no models, and nothing is charged to it.")
        return Asker(f"{rows[0].name}, a key of {unit.account.entities[1].name}", unit, rows[0])
    org, _, team = word.partition("/")
    named = directory.orgs.teams.get((org, team))
    if named is None:
        raise Unknown(f"There is no key {printable(word)}, and no team of that name.")
    return Asker(f"A token that names {word}", named)


def told(who: Asker, levels: Sequence[Level], at: int) -> Iterator[str]:
    """Which levels limit it, and what is left at each."""
    account = who.unit.account
    names = [f"{one.kind} {one.name}" for one in account.entities]
    yield f"{who.name}: all of its levels must agree to a request: {', '.join(names)}."
    if who.row is not None and who.row.blocked:
        yield "It is blocked, so nobody who has it is let in, whatever is left."
    for entity in account.entities:
        level = next((one for one in levels if one.name == entity.name), None)
        if level is None:
            yield f"{entity.kind} {entity.name} is not shown to whoever asks."
        elif not level.limits:
            yield f"{entity.kind} {entity.name} limits nothing itself."
    yield ""
    yield from table(levels, account.timezone, at)


def outlook(one: Ahead, timezone: str) -> Iterator[str]:
    """What the next request of one model would meet."""
    asks = f"{one.model}: a prompt of {one.prompt:,} tokens and an answer of {one.answer:,} at most"
    if not one.refused:
        yield f"{asks} is let through"
        if one.first is None:
            yield "  Nothing limits it."
        else:
            yield f"  There is room for {one.fits:,} of the same; then {_named(one.first)} refuses."
        return
    yield f"{asks} is refused"
    for number, limit in enumerate(one.refused):
        unit = _COUNTS.get(limit.limit, "")
        left = max(0, limit.most - limit.spent - limit.held)
        ends = "when a request ends" if limit.limit == "max_parallel_requests" else moment(round(limit.reset), timezone)
        yield (
            f"  {'first' if number == 0 else 'also'} by {_named(limit)}: {amount(unit, limit.asked)} asked, "
            f"{amount(unit, left)} left of {amount(unit, limit.most)} ({amount(unit, limit.spent)} spent, "
            f"{amount(unit, limit.held)} held); reset {ends}"
        )
    if one.cap is None:
        yield "  No output_cap would let it through: what is left does not suffice for the prompt."
    else:
        yield f"  An output_cap, or a max_tokens of the client, of {one.cap:,} or less lets it through."


def _next(
    who: Asker, levels: Sequence[Level], configured: Settings, prompt: int | None, only: str | None
) -> Iterator[str]:
    rights = who.unit.rights
    policy = configured.policy if rights.policy is None else configured.policies[rights.policy]
    cap, reserve = (
        rights.output_cap or policy.answer.output_cap,
        policy.query_class(policy.default_class).answer_reserve,
    )
    models = [one for one in configured.catalog.models if rights.models is None or one.name in rights.models]
    wanted: list[Model] = [one for one in models if only in (None, one.name)]
    if not wanted:
        what = "It may ask no model." if only is None else f"It may not ask {printable(only)}."
        yield what
        return
    yield "The next chat, where the client names no maximum:"
    for model in wanted:
        tokens = least_prompt(configured.counters[model.name]) if prompt is None else prompt
        yield from outlook(ahead(levels, model, tokens, cap, reserve), who.unit.account.timezone)


def _levels(read: Budgets) -> Iterator[Level]:
    for org in read.orgs:
        for one in (org.level, *(level for team in org.teams for level in (team.level, *team.keys))):
            if one is not None:
                yield one


def _named(limit: Standing) -> str:
    return f"{limit.kind} {limit.entity}: {limit.limit}"
