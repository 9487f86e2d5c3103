"""Gate `source_cap`: one source may not fill the evidence.

Knows: `per_source`, and the source of each passage (its source, else its URL, else itself).
Does not know: which of a source's passages are the better ones; the packer brings them in that order.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.SOURCE_CAP
MOMENT: Literal["sift", "pack"] = "pack"


def build(limits: Limits) -> Gate:
    """Refuses what would be more than `per_source` of one source; names the others."""
    cap = limits.per_source

    def refuse(passage: Passage, room: Room) -> Refusal | None:
        if len(room.admitted) < cap:
            return None
        source = passage.document.source
        ids = [earlier.document.id for earlier in room.admitted if earlier.document.source == source]
        return None if len(ids) < cap else Refusal(f"its source has {len(ids)} of {cap} already: {', '.join(ids)}")

    return refuse
