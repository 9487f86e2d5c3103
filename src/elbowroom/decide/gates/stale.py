"""Gate `stale`: the copy is older than texts of its source may be.

Knows: the registry's `freshness_days` for the source, and when the copy was fetched, else its version's date.
Does not know: whether anything changed since. A copy without a date passes; without a
clock, any does.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.dates import seen_at
from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.STALE
MOMENT: Literal["sift", "pack"] = "sift"
DAY = 86_400  # seconds


def build(limits: Limits) -> Gate:
    """Refuses what is older than its source's freshness; says by how much."""
    now = limits.now

    def refuse(passage: Passage, _room: Room) -> Refusal | None:
        fresh = passage.freshness_days
        seen = seen_at(passage.document) if fresh is not None and now is not None else None
        if fresh is None or now is None or seen is None or now - seen <= fresh * DAY:
            return None
        return Refusal(f"{(now - seen) / DAY:.0f} days old, and its source is fresh for {fresh:g}")

    return refuse
