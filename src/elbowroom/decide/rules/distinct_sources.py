"""Rule `distinct_sources`: one passage of every source before a second of any, and how many sources are shown.

Knows: whose source is whose, and which passages speak of the question at all.
Does not know: whether the sources are all there are; only how many of those that were found are shown.
"""

from __future__ import annotations

from msgspec import structs

from elbowroom.decide.passage import Job, Packer, Packing
from elbowroom.decide.tiers import in_tiers, shares
from elbowroom.needs import Steps

REMARKS = True
WHOLE = False


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """The most telling passage of each source first."""
    spoken = shares(job)
    best: dict[str, tuple[float, int]] = {}  # by source: (-share of the question, position)
    for one in job.passages:  # by rank, so that the better rank wins a tie
        position, source = one.document.position, one.document.source
        if spoken[position] > 0 and (source not in best or -spoken[position] < best[source][0]):
            best[source] = -spoken[position], position
    first = {position for _, position in best.values()}
    packing = yield from packer(in_tiers(job, lambda one: int(one.document.position not in first)))
    shown = {one.passage.document.source for one in packing.admitted}
    return structs.replace(packing, shown=(len(shown), len({one.document.source for one in job.passages})))
