"""The intake: what a packer has let in so far, what it has refused, and what room is left.

Knows: that every passage ends on one side, once; that gates are asked in order; how long one passage may be.
Does not know: which passage is to be tried next, or why. That is what packers differ in.
"""

from __future__ import annotations

from functools import cached_property
from math import log

from elbowroom.clean.text import normal
from elbowroom.count.counter import Tally
from elbowroom.decide.forms import shorter
from elbowroom.decide.passage import Admitted, Dropped, Job, Packing, Passage, Room
from elbowroom.decide.title import title_of
from elbowroom.needs import Steps
from elbowroom.records import Drop

# So many winners may turn out to have no sentence short enough; the others are then taken whole or not at all.
_FAILURES = 4


class Intake:
    """Tokens throughout, tag lines included."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.left = job.budget
        self.passages: list[Passage] = []  # let in, in this order
        self._admitted: list[Admitted] = []
        self._dropped: list[Dropped] = []
        self._tally = Tally(job.vocabulary, job.limits.line_prefix or "")
        self._failures = 0

    def candidates(self) -> tuple[Passage, ...]:
        """Whom the packer may choose from, by rank: everyone, or those whom a reranker put first."""
        passages = self.job.passages
        keep = self.job.limits.rerank_keep if self.job.reranked else len(passages)
        for passage in passages[keep:]:
            self.drop(passage, Drop.OVER_COUNT, f"ranked below the best {keep}")
        return passages[:keep]

    @cached_property
    def _parents(self) -> dict[str, Passage]:
        return {one.document.id: one for one in self.job.passages}

    @cached_property
    def speaking(self) -> dict[str, list[int]]:
        """Each term of the question, and the ranks in `job.passages` of those whose text or title has it."""
        speaking: dict[str, list[int]] = {term: [] for term in self.job.question}
        for at, passage in enumerate(self.job.passages):
            found = speaking.keys() & passage.text.terms.keys()
            for term in found | (speaking.keys() & title_of(passage.title).terms):
                speaking[term].append(at)
        return speaking

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each term of the question is worth: its weight by its rarity among the passages; without what none has.

        idf = ln(1 + (n - df + 0.5) / (df + 0.5)): BM25's (Robertson and Zaragoza, 2009), kept positive as Lucene does.
        """
        n = len(self.job.passages)
        return {
            term: self.job.question[term] * log(1 + (n - len(ats) + 0.5) / (len(ats) + 0.5))
            for term, ats in self.speaking.items()
            if ats
        }

    def offer(self, passage: Passage, novelty: float = 1.0, *, shorten: bool = False) -> Steps[Drop | None]:
        """Lets the passage in if no gate minds. Returns why it was dropped; None if it was not.

        A passage longer than any may be is cut to whole sentences; with `shorten`, one for which there is no room, too.
        """
        no = yield from self._take(passage, novelty, shorten=shorten)
        if passage.contained:
            self._take_contained(passage)
        return no

    def _take(self, passage: Passage, novelty: float, *, shorten: bool) -> Steps[Drop | None]:
        cap = min(self.job.limits.max_passage_tokens, passage.most or passage.tokens)
        no = self._refusal(passage, min(passage.tokens, cap), novelty)
        admitted: Admitted | None = None
        if no is None and passage.tokens <= cap:
            admitted = Admitted(passage, passage.text.clean, passage.tokens)
        elif no is None:
            admitted = yield from self._shorter(passage, min(cap, self.left))
        elif no[0] is Drop.OVER_BUDGET and shorten and self._failures < _FAILURES:
            admitted = yield from self._shorter(passage, min(cap, self.left))
            self._failures += admitted is None
            # Gates behind `over_budget` were not asked yet.
            no = self._refusal(passage, admitted.tokens, novelty) if admitted else no
        if admitted is None or no is not None:
            over = passage.tokens - cap
            reason, detail = no or (
                Drop.OVER_BUDGET,
                f"{over} tokens over the {cap} of a passage, and no sentence fits",
            )
            return self.drop(passage, reason, detail)
        self._admit(admitted)
        return None

    def _take_contained(self, passage: Passage) -> None:
        """Those were dropped because this one says all of theirs. What is sent of it may not: then they may go in."""
        sent = self._admitted[-1] if self._admitted and self._admitted[-1].passage is passage else None
        if sent is not None and sent.form == "whole":
            return
        said = normal(sent.body) if sent is not None else ""
        cap = self.job.limits.max_passage_tokens
        for one in sorted(passage.contained, key=lambda one: one.rank):
            missing = any(form not in said for _, _, form in one.text.stretches)
            if missing and one.tokens <= cap and self._refusal(one, one.tokens, 1.0) is None:
                self._admit(Admitted(one, one.text.clean, one.tokens))
                said += normal(one.text.clean)

    def _admit(self, admitted: Admitted) -> None:
        self.passages.append(admitted.passage)
        self._admitted.append(admitted)
        self.left -= admitted.tokens

    def drop(self, passage: Passage, reason: Drop, detail: str) -> Drop:
        self._dropped.append(Dropped(passage, reason, detail))
        return reason

    def packing(self) -> Packing:
        return Packing(tuple(self._admitted), tuple(self._dropped))

    def _refusal(self, passage: Passage, cost: int, novelty: float) -> tuple[Drop, str] | None:
        room = Room(self.passages, self.left, cost, novelty)
        for reason, gate in self.job.gates:
            refusal = gate(passage, room)
            if refusal is not None:
                return reason, refusal.detail
        # The budget is a promise: it holds under a policy, too, that does not name the gate.
        over = cost - self.left
        return (Drop.OVER_BUDGET, f"{over} tokens too many") if over > 0 else None

    def _shorter(self, passage: Passage, room: int) -> Steps[Admitted | None]:
        """Whole sentences of it; None where `room` leaves less than `min_excerpt_tokens` for them, or none fits."""
        room -= passage.tag_tokens
        if room < self.job.limits.min_excerpt_tokens:
            return None
        parent = self._parents.get(passage.document.parent_id or "")
        parent = None if parent in self.passages else parent  # it is there already
        return (yield from shorter(passage, room, self.weights, parent, self._tally))
