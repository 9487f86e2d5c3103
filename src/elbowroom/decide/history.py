"""Which earlier turns stay: the newest, each turn whole, and the cut where it was a turn ago.

Knows: what each turn costs and the room for all of them.
Does not know: what a turn says, why the room is no larger, or any earlier request.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def evict(costs: Sequence[int], room: int) -> int:
    """How many of the oldest turns go, so that the rest, unbroken up to the newest, costs at most `room` tokens.

    If any must go, the cut lies at a multiple of a block, counted from the conversation's beginning: the first that
    leaves two blocks at most, a block being half the room, evened down. So while a conversation grows the cut stays
    where it is for about a block, and what a provider has cached of the prompt stays of use; only then does it move.
    Between one and two blocks stay, and the newest turn whenever there is room for it. A turn holds its tool calls and
    their results, so no group is ever cut.
    """
    total = sum(costs)
    if total <= room:
        return 0
    block = _evened(room // 2)
    gone = total - 2 * block
    edge = -(-gone // block) * block if block else gone
    many = next(at for at, sum_ in enumerate(accumulate(costs, initial=0)) if sum_ >= min(edge, total))
    return len(costs) - 1 if many == len(costs) and costs[-1] <= room else many


def _evened(tokens: int) -> int:
    """Down to its three leading binary digits: a room that changes a little from turn to turn has the same block."""
    unit = 1 << max(0, tokens.bit_length() - 3)
    return tokens - tokens % unit
