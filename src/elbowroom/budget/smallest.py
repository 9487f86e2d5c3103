"""Limits that are smaller than one hold, so that nothing could ever pass where a client names no maximum.

Knows: the smallest prompt of a model, all that the model may emit then, that a rate takes only the room which a window
keeps for it, and which output cap would mend a limit.
Does not know: files, keys, or what has been spent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from elbowroom.budget.cost import dearest
from elbowroom.budget.hold import Name
from elbowroom.budget.limits import Account
from elbowroom.budget.worst import most_output
from elbowroom.count.counter import Counter
from elbowroom.records import Model


class TooSmall(Struct, frozen=True):
    """A limit that is less than one hold."""

    entity: str
    limit: Name
    most: int
    least: int  # of a hold of `model`, the largest of those that do not fit
    model: str
    cap: int | None  # the largest output cap with which one hold of each model fits; None: none would do


class Asking(NamedTuple):
    """Whom requests are charged to, and what they may ask."""

    account: Account
    models: Iterable[Model]
    cap: int | None  # tokens of an answer where the client names no maximum
    reserve: int | None = None  # the least that a window keeps for an answer then; None: all of it


def too_small(asking: Iterable[Asking], counters: Mapping[str, Counter]) -> list[TooSmall]:
    """Each such limit once, in the order in which they are met; `counters` by model name. 0 is meant, and none."""
    found: dict[tuple[str, Name], TooSmall] = {}
    for one in asking:
        for model in one.models:
            for small in _of_model(one, model, counters[model.name]):
                at = (small.entity, small.limit)
                found[at] = _worse(found[at], small) if at in found else small
    return list(found.values())


def least_prompt(counter: Counter) -> int:
    """Tokens that any prompt has: one message of one token."""
    plan = counter.plan({"messages": [{"role": "user", "content": "x"}]})
    return plan.constant + len(plan.texts)


def _of_model(asking: Asking, model: Model, counter: Counter) -> Iterator[TooSmall]:
    prompt, answer = least_prompt(counter), most_output(asking.cap, model)
    tokens, money = prompt + answer, dearest(model.price, prompt, answer)
    rate = tokens if asking.reserve is None else prompt + min(answer, asking.reserve)
    for entity in asking.account.entities:
        limits = entity.limits
        said: tuple[tuple[Name, int | None, int], ...] = (
            ("tpm_limit", limits.tpm, rate),
            ("max_tokens", limits.tokens, tokens),
            ("max_budget", limits.micro_usd, money),
        )
        for name, most, least in said:
            if most and most < least:
                cap = _cap_of_money(model, prompt, answer, most) if name == "max_budget" else most - prompt
                yield TooSmall(entity.name, name, most, least, model.name, cap if cap > 0 else None)


def _cap_of_money(model: Model, prompt: int, answer: int, most: int) -> int:
    return bisect_right(range(answer), most, key=lambda cap: dearest(model.price, prompt, cap)) - 1


def _worse(one: TooSmall, other: TooSmall) -> TooSmall:
    """The larger hold, and a cap that does for both."""
    caps = [each.cap for each in (one, other) if each.cap is not None]
    worst = max(one, other, key=lambda each: each.least)
    return TooSmall(
        worst.entity, worst.limit, worst.most, worst.least, worst.model, min(caps) if len(caps) == 2 else None
    )
