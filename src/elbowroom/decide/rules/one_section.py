"""Rule `one_section`: one section of the source that has the say, and one passage from elsewhere to verify it by.

Knows: that among sections which speak of the question about as much, registered authority decides; that what the
section itself names may be where its answer goes on, so that it may be the second.
Does not know: whether the second agrees with the first; the model and the reader see both.
"""

from __future__ import annotations

from msgspec import structs

from elbowroom.decide.passage import Job, Packer, Packing, Passage, Refusal, Room
from elbowroom.decide.tiers import in_tiers, section_of, shares
from elbowroom.needs import Steps
from elbowroom.records import Drop

REMARKS = False
WHOLE = False
ABOUT = 0.75  # of the best share of the question: who speaks of so much is about the question


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """The section first, then the one passage that the packer likes best beside it."""
    if not job.passages:
        return Packing((), ())
    spoken = shares(job)
    least = ABOUT * max(spoken.values())
    about = [one for one in job.passages if spoken[one.document.position] >= least]
    lead = min(about, key=lambda one: (-one.authority, -spoken[one.document.position] - one.relevance, one.rank))
    section = section_of(lead)

    def enough(passage: Passage, room: Room) -> Refusal | None:
        others = sum(section_of(one) != section for one in room.admitted)
        if section_of(passage) == section or others < job.limits.beside_section:
            return None
        return Refusal(f"beside {lead.document.id}'s section there are {others} already, to verify it by")

    narrowed = structs.replace(job, gates=((Drop.OVER_COUNT, enough), *job.gates))
    return (yield from packer(in_tiers(narrowed, lambda one: int(section_of(one) != section))))
