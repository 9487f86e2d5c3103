"""Gate `over_budget`: no room for it.

Knows: what the passage costs as it would be sent, and the tokens that are left.
Does not know: how to make it shorter; a packer that can do that asks again with the lower cost.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.OVER_BUDGET
MOMENT: Literal["sift", "pack"] = "pack"


def build(_limits: Limits) -> Gate:
    """Refuses what costs more than is left; says by how much."""
    return _refuse


def _refuse(_passage: Passage, room: Room) -> Refusal | None:
    missing = room.cost - room.tokens_left
    if missing <= 0:
        return None
    if room.tokens_left < 0:  # nothing may go in: the note before the evidence has no room either
        return Refusal(
            f"{missing} tokens too many: it costs {room.cost}, the note {-room.tokens_left} more than there are"
        )
    return Refusal(f"{missing} tokens too many: it costs {room.cost}, {room.tokens_left} are left")
