"""Rule `each_option`: room for every option of a comparison, and for what speaks of several of them.

Knows: the options that the question's words tell; that each is due its share of the budget before any has more.
Does not know: whether what is said of two options can be compared. Without options in the question it does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from elbowroom.decide.options import Options, options_of
from elbowroom.decide.passage import Admitted, Job, Packer, Packing, Passage
from elbowroom.decide.tiers import in_tiers, names, shares
from elbowroom.needs import Steps

REMARKS = False
WHOLE = False
NAMED = 0.5  # of an option's terms: a passage that has so many speaks of it


def pack(job: Job, packer: Packer) -> Steps[Packing]:
    """One passage for each option, one for what they share, each within its share; then all others."""
    options = options_of(job.question_text)
    if not options:
        return (yield from packer(job))
    chosen = _chosen(job, options)
    share = job.budget // max(1, len(chosen))
    wanted = sum(min(one.tokens, job.limits.max_passage_tokens) for one in chosen)
    positions = {one.document.position for one in chosen}
    most = dict.fromkeys(positions, max(1, share)) if wanted > job.budget else {}
    packing = yield from packer(in_tiers(job, lambda one: int(one.document.position not in positions), most))
    return structs.replace(packing, lacks=_lacks(packing.admitted, options))


def _speaks(passage: Passage, options: Options) -> list[int]:
    return [at for at, option in enumerate(options) if names(passage, option) >= NAMED]


def _chosen(job: Job, options: Options) -> list[Passage]:
    """For each option the passage that speaks of it alone and most of the question, else any; and one of several."""
    spoken = shares(job)
    told = sorted(job.passages, key=lambda one: (-spoken[one.document.position], one.rank))
    of = {one.document.position: _speaks(one, options) for one in told}
    chosen: list[Passage] = []
    for option in range(len(options)):
        speaking = [one for one in told if option in of[one.document.position] and one not in chosen]
        alone = [one for one in speaking if len(of[one.document.position]) == 1]
        chosen += (alone or speaking)[:1]
    shared = [one for one in told if len(of[one.document.position]) > 1 and one not in chosen]
    return chosen + shared[:1]


def _lacks(admitted: Sequence[Admitted], options: Options) -> str:
    found = {at for one in admitted for at in _speaks(one.passage, options)}
    without = len(options) - len(found)
    return f"{without} of {len(options)} options have no evidence" if without else ""
