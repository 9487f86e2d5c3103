"""What a Redis keeps of an account, read without changing it.

Knows: the fields that the scripts of `lua/` write.
Does not know: how commands travel, what is done with the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elbowroom.budget.hold import Amounts
from elbowroom.budget.sums import Sums
from elbowroom.budget.window import Window
from elbowroom_proxy.stores.levels import Levels
from elbowroom_proxy.stores.scripts import Word

SUMS = ("t", "m", "ht", "hm", "ut", "um")  # spent, held and unconfirmed: tokens, micro-USD


def questions(levels: Levels, at: float) -> list[tuple[Word, ...]]:
    """Two commands a level."""
    keys = levels.present(at).keys
    return [("HGETALL", key) if number % 2 == 0 else ("HMGET", key, *SUMS) for number, key in enumerate(keys)]


def sums(levels: Levels, at: float, answers: Sequence[Any]) -> tuple[Sums, ...]:
    """From their answers, in order."""
    found = []
    for number, (entity, span) in enumerate(zip(levels.account.entities, levels.spans, strict=True)):
        live, kept = answers[2 * number : 2 * number + 2]
        window = _window(live, at)
        tokens, money, held_tokens, held_money, maybe_tokens, maybe_money = (int(one or 0) for one in kept)
        which = 0 if at < span.end else 1
        found.append(
            Sums(
                entity,
                at,
                span[which],
                span[which + 1],
                int(live.get(b"o", 0)),
                window.requests,
                window.tokens,
                Amounts(tokens, money),
                Amounts(held_tokens, held_money),
                Amounts(maybe_tokens, maybe_money),
                window.requests_free(at, 0),
                window.tokens_free(at, 0),
            )
        )
    return tuple(found)


def _window(live: Mapping[bytes, bytes], at: float) -> Window:
    window = Window()
    for field, value in live.items():
        if len(field) > 1:
            second, amount = int(field[1:]), int(value)
            window.add(second, *((amount, 0) if field.startswith(b"n") else (0, amount)))
    window.slide(at)
    return window
