"""Packer `topk`: best first, and full is full.

Knows: the order of the scores, and that it ends at `rerank_keep` or at the first passage that does not fit.
Does not know: what a passage says.
"""

from __future__ import annotations

from elbowroom.decide.intake import Intake
from elbowroom.decide.passage import Job, Packing
from elbowroom.needs import Steps
from elbowroom.records import Drop


def pack(job: Job) -> Steps[Packing]:
    """By rank, until something does not fit. Whom another gate refuses is skipped, and not replaced."""
    intake = Intake(job)
    keep = job.limits.rerank_keep
    full = ""
    for at, passage in enumerate(job.passages):
        if full:
            intake.drop(passage, Drop.OVER_BUDGET, full)
        elif at >= keep:
            intake.drop(passage, Drop.OVER_COUNT, f"ranked below the best {keep}")
        elif (yield from intake.offer(passage)) is Drop.OVER_BUDGET:
            full = f"ranked below {passage.document.id}, which did not fit"
    return intake.packing()
