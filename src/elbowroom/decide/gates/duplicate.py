"""Gate `duplicate`: another passage says all of this already.

Knows: two texts that are equal but for case, punctuation and white space, and a text that stands whole, from sentence
border to sentence border, inside another.
Does not know: who of two should stay (the sift brings the preferred one first), or near copies with changed words.

A passage that contains an earlier one and says more is let in: it is not the longer that wins, and nothing is lost.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.DUPLICATE
MOMENT: Literal["sift", "pack"] = "sift"

TELLING = 12  # bytes of letters and digits; a shorter text ("Yes.", "30天") says what it says only under its title
BOILERPLATE = 16  # a sentence that so many passages hold leads to no more of them, so the work stays linear

Key = tuple[str, str]


def build(_limits: Limits) -> Gate:
    """Refuses what an earlier passage says whole; names it."""
    equals: dict[Key, Passage] = {}
    holders: dict[str, list[tuple[Passage, str]]] = {}  # by each sentence that they hold
    seen = 0

    def refuse(passage: Passage, room: Room) -> Refusal | None:
        nonlocal seen
        for earlier in room.admitted[seen:]:
            equals.setdefault(_key(earlier), earlier)
            held = _joined(earlier)
            for sentence in set(earlier.text.normal_sentences):
                holding = holders.setdefault(sentence, [])
                if len(holding) < BOILERPLATE:
                    holding.append((earlier, held))
        seen = len(room.admitted)
        same = equals.get(_key(passage))
        if same is not None:
            return Refusal(f"same text as {same.document.id}", same)
        if not _is_telling(passage):
            return None
        rarest = min((holders.get(sentence, []) for sentence in passage.text.normal_sentences), key=len)
        whole = _joined(passage)
        for holder, held in rarest:
            if whole in held:
                return Refusal(f"contained whole in {holder.document.id}", holder)
        return None

    return refuse


def _key(passage: Passage) -> Key:
    """What must be equal: the normal text, and what gives a very short one its sense."""
    return (passage.text.normal, "") if _is_telling(passage) else (passage.text.clean, passage.title)


def _is_telling(passage: Passage) -> bool:
    return len(passage.text.normal.encode()) >= TELLING


def _joined(passage: Passage) -> str:
    return "\n" + "\n".join(passage.text.normal_sentences) + "\n"
