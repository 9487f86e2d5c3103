"""Gate `over_count`: no more than so many passages.

Knows: `max_passages`.
Does not know: tokens.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.OVER_COUNT
MOMENT: Literal["sift", "pack"] = "pack"


def build(limits: Limits) -> Gate:
    """Refuses everything after `max_passages`."""
    cap = limits.max_passages

    def refuse(_passage: Passage, room: Room) -> Refusal | None:
        return Refusal(f"{cap} of {cap} passages were let in before it") if len(room.admitted) >= cap else None

    return refuse
