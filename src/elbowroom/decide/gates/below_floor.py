"""Gate `below_floor`: the caller's own score says that it is hardly about the question.

Knows: `floor`, on the scale from the worst (0) to the best (1) of this request.
Does not know: what a score means by itself. Where the caller gave none, there is no floor.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.BELOW_FLOOR
MOMENT: Literal["sift", "pack"] = "sift"


def build(limits: Limits) -> Gate:
    """Refuses a scored passage whose relevance is less than `floor`; says by how much."""
    floor = limits.floor

    def refuse(passage: Passage, _room: Room) -> Refusal | None:
        document = passage.document
        scored = document.score is not None or document.rerank_score is not None
        if not scored or passage.relevance >= floor:
            return None
        return Refusal(f"relevance {passage.relevance:.3f} is below {floor:g}")

    return refuse
