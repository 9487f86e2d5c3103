"""What class rules have in common: the question's share in each passage, and passages put in tiers.

Knows: a job's passages and terms; that a packer tries a lower tier before a higher one.
Does not know: why a rule prefers anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import structs

from elbowroom.decide.intake import Intake
from elbowroom.decide.passage import Job, Passage
from elbowroom.decide.title import title_of


def shares(job: Job) -> dict[int, float]:
    """By position: the share of the question's weight, its terms' rarity included, that a passage speaks of."""
    intake = Intake(job)
    whole = sum(intake.weights.values()) or 1.0
    spoken = dict.fromkeys((one.document.position for one in job.passages), 0.0)
    for term, weight in intake.weights.items():
        for at in intake.speaking[term]:
            spoken[job.passages[at].document.position] += weight / whole
    return spoken


def in_tiers(job: Job, tier: Callable[[Passage], int], most: Mapping[int, int] | None = None) -> Job:
    """The job with its passages in their tiers; `most` are tokens by position."""
    put = [
        structs.replace(one, tier=tier(one), most=(most or {}).get(one.document.position, one.most))
        for one in job.passages
    ]
    return structs.replace(job, passages=tuple(sorted(put, key=lambda one: (one.tier, one.rank))))


def names(passage: Passage, terms: Collection[str]) -> float:
    """The share of the terms that the passage or its title has."""
    found = passage.text.terms.keys() | title_of(passage.title).terms
    return sum(term in found for term in terms) / len(terms)


def section_of(passage: Passage) -> tuple[str, ...]:
    """What a passage is a chunk of: its parent or its section of a source, else only itself."""
    document = passage.document
    if document.parent_id:
        return "parent", document.parent_id
    if document.section:
        return "section", document.source, document.section
    return "alone", str(document.position)
