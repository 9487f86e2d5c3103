"""What the next request would meet: which limits have no room for it, and which output cap would let it through.

Knows: that a hold is the prompt and all that may be emitted at the dearest price, that a rate takes only the room which
a window keeps for the answer, and that every level must agree.
Does not know: what is kept or where, who asks, or how it is told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from msgspec import Struct

from elbowroom.budget.cost import dearest
from elbowroom.budget.hold import Amounts, Name, Standing
from elbowroom.budget.sums import refusing
from elbowroom.budget.view import Level
from elbowroom.budget.worst import most_output
from elbowroom.records import Model

_IN_A_PERIOD: frozenset[Name] = frozenset({"max_tokens", "max_budget"})


class Ahead(Struct, frozen=True):
    """One request that has not been sent."""

    model: str
    prompt: int  # tokens
    answer: int  # tokens that it may emit
    asked: Amounts
    refused: tuple[Standing, ...]  # every limit that would refuse it, the largest level first
    cap: int | None  # where it is refused, the largest output cap with which it is not; None: none would do
    first: Standing | None  # where it is not, the limit that is the first to refuse more of the same
    fits: int = 0  # how many of the same there is room for, by that limit


def ahead(
    levels: Iterable[Level], model: Model, prompt: int, output_cap: int | None, reserve: int | None = None
) -> Ahead:
    """A request of that many tokens whose client names no maximum. `reserve`: what a window keeps for its answer; None:
    all of it.
    """
    levels, answer = tuple(levels), most_output(output_cap, model)
    asked = _asked(model, prompt, answer, reserve)
    standing = _standing(levels, asked)
    refused = refusing(standing)
    if refused:

        def too_much(most: int) -> bool:
            return bool(refusing(_standing(levels, _asked(model, prompt, most, reserve))))

        # A smaller answer asks for less of everything.
        cap = bisect_left(range(1, answer + 1), True, key=too_much)
        return Ahead(model.name, prompt, answer, asked, refused, cap or None, None)
    rooms = [(_fits(one), one) for one in standing if one.asked]
    in_a_period = [(n, one) for n, one in rooms if one.limit in _IN_A_PERIOD]
    fits, first = min(in_a_period or rooms, key=lambda room: room[0], default=(0, None))
    return Ahead(model.name, prompt, answer, asked, (), None, first, fits)


def _asked(model: Model, prompt: int, answer: int, reserve: int | None) -> Amounts:
    kept = answer if reserve is None else min(answer, reserve)
    return Amounts(prompt + answer, dearest(model.price, prompt, answer), prompt + kept)


def _standing(levels: tuple[Level, ...], asked: Amounts) -> tuple[Standing, ...]:
    amounts = {"tpm_limit": asked.rate_tokens, "max_tokens": asked.tokens, "max_budget": asked.micro_usd}
    return tuple(
        Standing(
            level.name, level.kind, one.limit, one.most, one.spent, one.held, amounts.get(one.limit, 1), one.reset or 0
        )
        for level in levels
        for one in level.limits
    )


def _fits(one: Standing) -> int:
    return (one.most - one.spent - one.held) // one.asked
