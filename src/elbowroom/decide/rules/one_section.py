"""Rule `one_section`: one section of the source that has the say, and one passage from elsewhere to verify it by.

Knows: that among sections which speak of the question about as much, registered authority decides, then rank.
Does not know: whether the second passage agrees with the first; the model and the reader see both.
"""

from __future__ import annotations

from msgspec import structs

from elbowroom.decide.passage import Dropped, Job, Packer, Packing
from elbowroom.decide.tiers import in_tiers, section_of, shares
from elbowroom.records import Drop, Steps

REMARKS = False
ABOUT = 0.75  # of the best share of the question: who speaks of so much is about the question


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """The section first, then whoever verifies; all others are dropped."""
    if not job.passages:
        return Packing((), ())
    spoken = shares(job)
    least = ABOUT * max(spoken.values())
    about = [one for one in job.passages if spoken[one.document.position] >= least]
    lead = min(about, key=lambda one: (-one.authority, one.rank))
    section = section_of(lead)
    second = next((one for one in about if one.document.source != lead.document.source), None)

    kept, dropped = [], []
    for one in job.passages:
        if section_of(one) == section or one is second:
            kept.append(one)
        else:
            dropped.append(Dropped(one, Drop.OVER_COUNT, f"beyond {lead.document.id}'s section and one to verify it"))
    narrowed = structs.replace(job, passages=tuple(kept))
    packing = yield from packer(in_tiers(narrowed, lambda one: int(section_of(one) != section)))
    return structs.replace(packing, dropped=packing.dropped + tuple(dropped))
