"""Which earlier turns stay: the newest, each turn whole.

Knows: what each turn costs and the room for all of them.
Does not know: what a turn says, or why the room is no larger.
"""

from __future__ import annotations

from collections.abc import Sequence


def evict(costs: Sequence[int], room: int) -> int:
    """How many of the oldest turns go, so that the rest, unbroken up to the newest, costs at most `room` tokens.

    A turn holds its tool calls and their results, so no group is ever cut.
    """
    kept = 0
    for newer, cost in enumerate(reversed(costs)):
        kept += cost
        if kept > room:
            return len(costs) - newer
    return 0
