"""The passage that matters most goes in whole, and the others are cut to excerpts beside it.

Knows: which passage that is, and how the rest of the room is shared out among those that come next.
Does not know: how anything is cut, or whether the packer takes what it is offered.
"""

from __future__ import annotations

from elbowroom.decide.passage import Job, Packer, Packing, Passage
from elbowroom.decide.tiers import in_tiers, shares
from elbowroom.needs import Steps


def others_first(packer: Packer) -> Packer:
    """That packer, given each job with the best passage ahead of all others and no more of those than fits beside it.

    A best passage that does not fit whole, or beside which all others do, changes nothing.
    """

    def pack(job: Job) -> Steps[Packing]:
        return packer(_beside(job))

    return pack


def _beside(job: Job) -> Job:
    if not job.passages:
        return job
    best, most = _best(job), job.limits.max_passage_tokens
    others = [one for one in job.passages if one is not best]
    wanted = [min(one.tokens, one.most or one.tokens, most) for one in others]
    room = job.budget - best.tokens
    if room < 0 or best.tokens > min(most, best.most or most) or sum(wanted) <= room:
        return job
    share = _share(room, job, others, wanted)
    cut = {one.document.position: min(share, one.most or share) for one in others}
    return in_tiers(job, lambda one: one.tier - (one.document.position == best.document.position), cut)


def _best(job: Job) -> Passage:
    """Of those that are tried first, who is most relevant and speaks of most of the question."""
    spoken = shares(job)
    first = [one for one in job.passages if one.tier == job.passages[0].tier]
    return max(first, key=lambda one: (spoken[one.document.position] + one.relevance, -one.rank))


def _share(room: int, job: Job, others: list[Passage], wanted: list[int]) -> int:
    """So many tokens at most for each of the next best, as many of them as an excerpt each finds room for."""
    least = job.limits.min_excerpt_tokens + max(one.tag_tokens for one in others)
    many = max(1, min(len(others), job.limits.max_passages - 1, room // least))
    for tokens in sorted(wanted[:many]):
        if tokens > room // many:
            break
        room, many = room - tokens, many - 1  # who wants less leaves more to the others
    return max(1, room // max(1, many))
