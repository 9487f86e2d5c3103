"""Gate `superseded`: a passage that was let in is the valid version of this one.

Knows: `supersedes`, newer versions of one source, and texts that are the same but for words inside their sentences:
there the registered authority decides, then the document's date.
Does not know: whom to keep where nothing decides: both stay, and the sift marks them.

Versions and dates are the documents' own claims, so they count among equals only. An exception that an older text names
is not outdated by a newer text that does not speak of it.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.alike import names_exception
from elbowroom.decide.dates import day
from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.decide.versions import Claims, same_subject
from elbowroom.records import Drop

REASON = Drop.SUPERSEDED
MOMENT: Literal["sift", "pack"] = "sift"


def build(_limits: Limits) -> Gate:
    """Refuses the outdated; names the valid one."""
    claims = Claims()
    seen = 0

    def refuse(passage: Passage, room: Room) -> Refusal | None:
        nonlocal seen
        for earlier in room.admitted[seen:]:
            claims.add(earlier)
        seen = len(room.admitted)
        for valid, named in claims.against(passage):
            if valid.authority >= passage.authority:
                if named:
                    return Refusal(f"{valid.document.id} supersedes it")
                if not names_exception(passage.text):
                    return Refusal(f"{valid.document.id} is version {valid.document.version} of the same source")
        for at, like in room.alike.near(passage.text, room.admitted):
            earlier = room.admitted[at]
            if like.kind != "version" or not same_subject(passage, earlier):
                continue
            name = earlier.document.id
            if earlier.authority > passage.authority:
                return Refusal(f"{name} is another version, and its source has more authority", yields_to=earlier)
            older = 0 < day(passage.document) < day(earlier.document)
            if older and not names_exception(passage.text, like.own):
                return Refusal(f"{name} is a newer version", yields_to=earlier)
        return None

    return refuse
