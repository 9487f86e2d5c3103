"""Gate `empty`: a passage without text.

Knows: that null, blank, and nothing but characters which cleaning removes are all no text.
Does not know: what cleaning removes.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.EMPTY
MOMENT: Literal["sift", "pack"] = "sift"


def build(_limits: Limits) -> Gate:
    """Refuses what has no text."""
    return _refuse


def _refuse(passage: Passage, _room: Room) -> Refusal | None:
    if passage.text.clean:
        return None
    raw = passage.document.text
    if raw is None:
        return Refusal("its text is null")
    return Refusal("nothing is left of its text after cleaning" if raw.strip() else "its text is blank")
