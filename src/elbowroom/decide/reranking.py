"""A reranker's scores in place of the caller's: who is shown to it, what of them, and what its answer changes.

Knows: how many candidates and how much of each a policy shows; that no answer is not the same as nothing relevant.
Does not know: any reranker (the service asks), which candidates may be seen at all (the caller hands in only those).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Real

from msgspec import Struct, structs

from elbowroom.count.counter import Tally
from elbowroom.decide.passage import Dropped, Passage
from elbowroom.decide.rank import relevances
from elbowroom.errors import RerankUnavailable
from elbowroom.needs import NeedRerank, Steps
from elbowroom.read.policy import Rerank
from elbowroom.records import Drop, Reranking

GIVEN = "given"  # the caller's scores; nobody is asked
_CHARACTERS = 8  # a token has hardly more, so no more of a text is looked at


class Ranked(Struct, frozen=True):
    passages: tuple[Passage, ...]  # in the order given, with their ranks
    dropped: tuple[Dropped, ...] = ()  # whom the scores call irrelevant
    told: Reranking | None = None  # None: nobody scored anything

    @property
    def ran(self) -> bool:
        """Whether the order is a reranker's, the caller's or ours."""
        return self.told is not None and self.told.state != "failed"


def rerank(
    passages: Sequence[Passage], shown: Sequence[Passage], policy: Rerank, question: str, tally: Tally
) -> Steps[Ranked]:
    """Asks about `shown`, by rank, and puts all `passages` in the order of the answer; who was not shown comes behind.

    Raises `RerankUnavailable` where there is no answer and the policy refuses.
    """
    if policy.by == GIVEN:
        scored = sum(one.document.rerank_score is not None for one in passages)
        return _relevant(passages, policy, Reranking(GIVEN, "ran", scored, 0) if scored else None)
    candidates = shown[: policy.retrieve_k]
    texts = yield from _readable(candidates, policy.input_limit, tally)
    asked = [(one, text) for one, text in zip(candidates, texts, strict=True) if text]
    cut = {one.document.position for one, text in asked if text != one.text.clean}
    told = Reranking(policy.by, "ran", len(asked), len(cut))
    scores = (yield NeedRerank(policy.by, question, tuple(text for _, text in asked))) if asked else ()
    if len(scores) != len(asked) or not all(isinstance(one, Real) and isfinite(one) for one in scores):
        if policy.on_failure == "refuse":
            raise RerankUnavailable("The reranker gave no order.", param="documents")
        return Ranked(tuple(passages), told=structs.replace(told, state="failed"))
    by_position = {one.document.position: float(score) for (one, _), score in zip(asked, scores, strict=True)}
    documents = [structs.replace(one.document, rerank_score=by_position.get(one.document.position)) for one in passages]
    ranked = [
        structs.replace(one, document=document, relevance=relevance, rank=rank, scored_in_part=document.position in cut)
        for one, document, (relevance, rank) in zip(passages, documents, relevances(documents), strict=True)
    ]
    return _relevant(ranked, policy, told)


def _relevant(passages: Sequence[Passage], policy: Rerank, told: Reranking | None) -> Ranked:
    least = policy.min_score
    if least is None or told is None:
        return Ranked(tuple(passages), told=told)
    kept, dropped = [], []
    for one in passages:
        score = one.document.rerank_score
        if score is not None and score < least:
            dropped.append(Dropped(one, Drop.BELOW_FLOOR, f"the reranker's score is {score:.4g}, less than {least:g}"))
        else:
            kept.append(one)
    nothing = dropped and all(one.document.rerank_score is None for one in kept)
    state = "nothing_relevant" if nothing else told.state
    return Ranked(tuple(kept), tuple(dropped), structs.replace(told, state=state))


def _readable(passages: Sequence[Passage], limit: int, tally: Tally) -> Steps[list[str]]:
    """What the reranker is sent of each: all of it, or the first sentences that `limit` tokens hold, if any."""
    long = [one for one in passages if one.body_tokens > limit]
    firsts = {
        one.document.position: [
            one.text.clean[start:end] + "\n" for start, end in one.text.sentences if end <= _CHARACTERS * limit
        ]
        for one in long
    }
    yield from tally.measure((unit for units in firsts.values() for unit in units), recurring=False)
    texts = []
    for one in passages:
        units = firsts.get(one.document.position)
        if units is None:
            texts.append(one.text.clean)
            continue
        room, many = limit, 0
        for unit in units:
            room -= tally.tokens[unit]
            if room < 0:
                break
            many += 1
        texts.append(one.text.clean[: one.text.sentences[many - 1][1]] if many else "")
    return texts
