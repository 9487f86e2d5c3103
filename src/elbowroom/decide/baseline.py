"""What is sent where nothing is chosen: every passage that has text, in the client's order, until the window is full.

Knows: that a mode which does not enforce still cleans and fences, that what overflows is left off from the end, and
that a client may repeat in its own messages what it tags.
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
    return (yield from _packed(job, add=True))


def pack_as_sent(job: Job) -> Steps[Packing]:
    """The same of what came inside messages, which would be lost otherwise. Of what was tagged beside them nothing is
    added: the client's own words say it.
    """
    return (yield from _packed(job, add=False))


def _packed(job: Job, *, add: bool) -> Steps[Packing]:
    intake = Intake(job)
    full = False
    for passage in sorted(job.passages, key=lambda one: one.document.position):
        if not add and passage.document.message is None:
            intake.drop(passage, Drop.NOT_ADDED, "the client's messages are sent as they are")
        elif full:
            intake.drop(passage, Drop.OVER_BUDGET, "stands behind the first that did not fit")
        else:
            full = (yield from intake.offer(passage)) is not None
    return intake.packing()
