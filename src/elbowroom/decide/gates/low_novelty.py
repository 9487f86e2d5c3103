"""Gate `low_novelty`: it says too little that was not said above it.

Knows: `min_novelty`.
Does not know: how novelty is measured. Only the packer `weighted` measures it; to the others every passage is new.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.LOW_NOVELTY
MOMENT: Literal["sift", "pack"] = "pack"


def build(limits: Limits) -> Gate:
    """Refuses what is less new than `min_novelty`."""
    least = limits.min_novelty

    def refuse(_passage: Passage, room: Room) -> Refusal | None:
        return Refusal(f"novelty {room.novelty:.2f}, at least {least:.2f}") if room.novelty < least else None

    return refuse
