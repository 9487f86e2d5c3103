"""Packer `weighted`: one sum, sorted once, and what does not fit is skipped.

Knows: 0.60 relevance + 0.25 novelty + 0.15 authority, where novelty is what the caller says, else the share of the
passage's character n-grams that nothing ranked above it has.
Does not know: what was let in when it measures novelty; it is the ranking's novelty, not the selection's.
"""

from __future__ import annotations

from elbowroom.decide.intake import Intake
from elbowroom.decide.passage import Job, Packing, Passage
from elbowroom.needs import Steps


def pack(job: Job) -> Steps[Packing]:
    """By the sum; skips what no gate lets in, and goes on."""
    intake = Intake(job)
    scored = [(_score(passage, novelty), novelty, passage) for passage, novelty in _novelties(intake.candidates())]
    scored.sort(key=lambda one: (one[2].tier, -one[0]))  # stable: ties by rank
    for _, novelty, passage in scored:
        yield from intake.offer(passage, novelty)
    return intake.packing()


def _score(passage: Passage, novelty: float) -> float:
    return 0.60 * passage.relevance + 0.25 * novelty + 0.15 * passage.authority


def _novelties(passages: tuple[Passage, ...]) -> list[tuple[Passage, float]]:
    above: set[str] = set()
    result = []
    for passage in passages:
        novelty = passage.document.novelty
        shingles = passage.text.shingles
        if novelty is None:
            novelty = len(shingles - above) / len(shingles) if shingles else 1.0
        above |= shingles
        result.append((passage, novelty))
    return result
