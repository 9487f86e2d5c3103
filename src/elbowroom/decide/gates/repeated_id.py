"""Gate `repeated_id`: the same id, and the same text, once more.

Knows: which ids were let in before.
Does not know: what to do about one id with two texts (refused while reading, it is the client's error).
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.REPEATED_ID
MOMENT: Literal["sift", "pack"] = "sift"


def build(_limits: Limits) -> Gate:
    """Refuses an id that was let in; names the first."""
    by_id: dict[str, Passage] = {}
    seen = 0

    def refuse(passage: Passage, room: Room) -> Refusal | None:
        nonlocal seen
        for earlier in room.admitted[seen:]:
            by_id[earlier.document.id] = earlier
        seen = len(room.admitted)
        first = by_id.get(passage.document.id)
        if first is None:
            return None
        return Refusal(f"documents[{first.document.position}] has the same id and text", first)

    return refuse
