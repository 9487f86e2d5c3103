"""Gate `expired`: the document's own label says that it no longer holds.

Knows: `access.expires_at`, and that a date nobody can read is no permission.
Does not know: the rest of the label, or how long a source's texts stay fresh (`stale` does).
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.dates import seconds
from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.EXPIRED
MOMENT: Literal["sift", "pack"] = "sift"


def build(limits: Limits) -> Gate:
    """Refuses what expired before now, or at a time that cannot be told."""
    now = limits.now

    def refuse(passage: Passage, _room: Room) -> Refusal | None:
        expires = (passage.document.access or {}).get("expires_at")
        if expires is None:
            return None
        at = seconds(expires)
        if at is None:
            return Refusal("its expires_at is no date")
        return Refusal(f"expired {_ago(now - at)} ago") if now is not None and at <= now else None

    return refuse


def _ago(passed: float) -> str:
    return f"{passed / 86_400:.0f} days" if passed >= 86_400 else f"{passed / 3_600:.1f} hours"
