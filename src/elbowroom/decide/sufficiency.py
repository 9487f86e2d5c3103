"""Whether the evidence is enough, and summaries in place of passages where it is not.

Knows: the least that a class needs, by number and by what its rule misses; that a document may bring its own summary.
Does not know: what is said or refused when it is not enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from elbowroom.clean.known import Known
from elbowroom.count.counter import Tally
from elbowroom.decide.evidence import Choice, Recipe, gates_of
from elbowroom.decide.passage import Admitted, Packing, Passage
from elbowroom.decide.tiers import section_of
from elbowroom.needs import Steps
from elbowroom.read.policy import Minimum

Pieces = Callable[[tuple[str, str, str], str], tuple[str, ...]]


def lacking(admitted: Sequence[Admitted], minimum: Minimum, lacks: str) -> str:
    """What is missing, in words that hold no text of the request; "" where the evidence is sufficient."""
    if not admitted:
        return "no evidence was admitted"
    sources = len({one.passage.document.source for one in admitted})
    if len(admitted) < minimum.passages:
        return f"{len(admitted)} passages were admitted, the class needs {minimum.passages}"
    if sources < minimum.sources:
        return f"{sources} sources were admitted, the class needs {minimum.sources}"
    return lacks


def with_summaries(choice: Choice, recipe: Recipe, pieces: Pieces, known: Known, tally: Tally) -> Steps[Packing]:
    """The packing with summaries of what did not fit: one a section, of sources that have nothing in, best first.

    Only passages that every gate before the packer let through, in the room that is left.
    """
    job, packing = choice.job, choice.packing
    told = {one.passage.document.source for one in packing.admitted}
    places = job.limits.max_passages - len(packing.admitted)
    first: dict[tuple[str, ...], Passage] = {}
    for one in job.passages:
        if one.document.summary and one.document.source not in told:
            first.setdefault(section_of(one), one)
    texts = {one.document.position: known.text(one.document.summary or "") for one in first.values()}
    sent = {one.document.position: pieces(one.shown, texts[one.document.position].clean) for one in first.values()}
    yield from tally.measure(piece for parts in sent.values() for piece in parts)
    summed = tuple(
        structs.replace(
            one,
            text=texts[one.document.position],
            body_tokens=sum(tally.tokens[piece] for piece in sent[one.document.position]) - one.tag_tokens,
            contained=(),
            parts=(),
            most=None,
        )
        for one in first.values()
        if texts[one.document.position].clean
    )
    if not summed or places < 1:
        return packing
    left = job.budget - sum(one.tokens for one in packing.admitted)
    limits = structs.replace(job.limits, max_passages=places)
    gates = gates_of(structs.replace(recipe, limits=limits), "pack")
    more = yield from recipe.pack(structs.replace(job, passages=summed, budget=left, limits=limits, gates=gates))
    whole = {one.document.position: one for one in first.values()}
    admitted = tuple(
        structs.replace(one, passage=whole[one.passage.document.position], spans=(), form="summary")
        for one in more.admitted
    )
    positions = {one.passage.document.position for one in admitted}
    dropped = tuple(one for one in packing.dropped if one.passage.document.position not in positions)
    return structs.replace(packing, admitted=packing.admitted + admitted, dropped=dropped) if admitted else packing
