"""Gate `duplicate`: another passage says all of this already, or this one is another's copy with something added.

Knows: that only whole sentences and formatting may differ between copies, and that it is never the longer one that
wins: the sift brings the preferred one first, and a later one that adds little to it adds nothing.
Does not know: why the earlier one is preferred, or what to do about two versions that disagree (`superseded` does).

What adds much, or names an exception, is no copy. To a source of more authority it takes more than a few sentences: a
copy into which somebody wrote a sentence of his own loses to its source.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.alike import Likeness, names_exception
from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.DUPLICATE
MOMENT: Literal["sift", "pack"] = "sift"

TELLING = 12  # bytes of letters and digits; a shorter text ("Yes.", "30天") says what it says only under its title
FEW = 2  # stretches between full stops
MUCH_OF_A_COPY = 0.5  # of its characters: what a less authorised copy may add before it is a text of its own
MUCH = 0.35  # the same where authority is equal


def build(_limits: Limits) -> Gate:
    """Refuses what an earlier passage says whole, and the copies of one; names it."""
    short: dict[tuple[str, str], Passage] = {}
    seen = 0

    def refuse(passage: Passage, room: Room) -> Refusal | None:
        nonlocal seen
        for earlier in room.admitted[seen:]:
            if not _is_telling(earlier):
                short.setdefault((earlier.text.clean, earlier.title), earlier)
        seen = len(room.admitted)
        if not _is_telling(passage):
            same = short.get((passage.text.clean, passage.title))
            return None if same is None else Refusal(f"same text as {same.document.id}", same)
        for at, like in room.alike.near(passage.text, room.admitted):
            earlier = room.admitted[at]
            if _is_telling(earlier) and (detail := _detail(passage, earlier, like)):
                return Refusal(detail, earlier)
        return None

    return refuse


def _detail(passage: Passage, earlier: Passage, like: Likeness) -> str:
    """Why the passage adds nothing to the earlier one; `""` where it does."""
    name = earlier.document.id
    if like.kind == "same":
        return f"same text as {name}"
    if like.kind == "within":
        return f"contained whole in {name}"
    if like.kind == "around" and _adds_little(passage, earlier, like):
        return f"copy of {name} with {len(like.own)} stretches added"
    return ""


def _adds_little(passage: Passage, earlier: Passage, like: Likeness) -> bool:
    added = sum(end - start for start, end in like.own) / len(passage.text.clean)
    if earlier.authority > passage.authority:
        return added <= MUCH_OF_A_COPY or len(like.own) <= FEW
    return added <= MUCH and not names_exception(passage.text, like.own)


def _is_telling(passage: Passage) -> bool:
    return len(passage.text.normal.encode()) >= TELLING
