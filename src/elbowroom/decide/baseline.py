"""What is sent where nothing is chosen: every passage that has text, in the client's order, until the window is full.

Knows: that a mode which does not enforce still cleans and fences, and that what overflows is left off from the end.
Does not know: relevance, sources or duplicates; it looks at none of them.
"""

from __future__ import annotations

from elbowroom.decide.intake import Intake
from elbowroom.decide.order import Order
from elbowroom.decide.passage import Job, Packing
from elbowroom.needs import Steps
from elbowroom.records import Drop

GATES = ("expired", "empty", "over_budget")
ORDER: Order = "document"


def pack(job: Job) -> Steps[Packing]:
    """The passages whole, in the client's order; from the first that does not fit, none."""
    intake = Intake(job)
    full = False
    for passage in sorted(job.passages, key=lambda one: one.document.position):
        if full:
            intake.drop(passage, Drop.OVER_BUDGET, "stands behind the first that did not fit")
        else:
            full = (yield from intake.offer(passage)) is not None
    return intake.packing()
