"""Packer `cover`: what adds most to the evidence so far goes in next; a winner too long for the room gives sentences.

Knows: the question's terms and which of them nothing admitted speaks of yet; titles that the question or an admitted
passage names (the second half of a question in two steps); what a passage costs.
Does not know: embeddings, or what an answer looks like.

gain = (relevance + covered + 0.8 named) x authority x recency / tokens^0.15
- relevance: the caller's scores and a lexical score of our own (BM25), three to one; one to three where the caller gave
  no scores but an order.
- covered: the share of the question's idf mass that the passage speaks of and nothing admitted does.
- named: the question, or an admitted passage, names its title.
The greedy choice is lazy: a gain only falls while terms get covered, so the top of a heap is brought up to date instead
of everything in it (Minoux, 1978); where a title gets named, the gain rises and is put in anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from elbowroom.clean.text import normal
from elbowroom.decide.dates import day
from elbowroom.decide.intake import Intake
from elbowroom.decide.passage import Job, Packing, Passage
from elbowroom.decide.title import title_of
from elbowroom.needs import Steps

SCORED, ORDERED = 0.75, 0.25  # the caller's part of relevance, with scores and without
NAMED = 0.8
COST = 0.15  # 0: cost does not matter; 1: gain a token
COMMON = 0.3  # a title that more than this share of the candidates names is a word like any other
K1, B = 1.2, 0.5  # BM25: how soon more of a term says nothing more, and how much length counts
OLDEST = 0.8  # recency of the oldest, where the class asks for it; the newest has 1


def pack(job: Job) -> Steps[Packing]:
    """Greedy by gain; skips what no gate lets in, and goes on."""
    intake = Intake(job)
    candidates = intake.candidates()
    field = _Field(candidates, intake)
    heap = [(one.tier, -field.gain(at), at) for at, one in enumerate(candidates)]
    heapify(heap)
    tried = set()
    while heap:
        tier, stored, at = heappop(heap)
        if at in tried:
            continue
        now = -field.gain(at)
        if now > stored:
            heappush(heap, (tier, now, at))
            continue
        tried.add(at)
        if (yield from intake.offer(candidates[at], shorten=True)) is None:
            for named in field.admit(at):
                heappush(heap, (candidates[named].tier, -field.gain(named), named))
    return intake.packing()


class _Field:
    """The candidates, by number, and what each would add now."""

    def __init__(self, passages: Sequence[Passage], intake: Intake) -> None:
        job = intake.job
        n = len(passages)
        whole = sum(intake.weights.values())
        self.passages = passages
        self.titles = [title_of(passage.title) for passage in passages]
        self.speaking = {term: [at for at in intake.speaking[term] if at < n] for term in intake.weights}
        self.shares = {term: weight / whole for term, weight in intake.weights.items()}  # of what is not covered yet
        self.uncovered = [0.0] * n
        self.terms: list[list[str]] = [[] for _ in passages]
        for term, share in self.shares.items():
            for at in self.speaking[term]:
                self.uncovered[at] += share
                self.terms[at].append(term)
        self.relevance = self._relevance()
        self.factor: list[float] = [
            passage.authority * recency * min(passage.tokens, job.limits.max_passage_tokens) ** -COST
            for passage, recency in zip(passages, _recency(passages, matters=job.limits.recency), strict=True)
        ]
        self.normals = [passage.text.normal for passage in passages]
        self.common: dict[str, bool] = {}  # by name
        question = normal(job.question_text)
        self.named = [title.named_in(job.question.keys(), question) for title in self.titles]
        self.unnamed: dict[str, list[int]] = {}  # by one term of the title
        for at, title in enumerate(self.titles):
            if title.name and not self.named[at]:
                self.unnamed.setdefault(min(title.name_terms), []).append(at)

    def gain(self, at: int) -> float:
        return (self.relevance[at] + self.uncovered[at] + NAMED * self.named[at]) * self.factor[at]

    def admit(self, admitted: int) -> list[int]:
        """Takes note of what is covered now. Returns those whose gain rose, because their title was named."""
        text = self.passages[admitted].text
        for term in self.terms[admitted]:
            share = self.shares.pop(term, 0.0)  # 0: covered already
            if share:
                for at in self.speaking[term]:
                    self.uncovered[at] -= share
        risen = []
        for term in self.unnamed.keys() & text.terms.keys():
            names = [at for at in self.unnamed[term] if self.titles[at].named_in(text.terms.keys(), text.normal)]
            for at in names:
                self.unnamed[term].remove(at)
                self.named[at] = not self._is_common(self.titles[at].name)
            risen += [at for at in names if self.named[at]]
        return risen

    def _relevance(self) -> list[float]:
        """The caller's relevance and BM25 over the candidates, the best of them 1, in the proportion of trust."""
        mean = sum(len(passage.text.clean) for passage in self.passages) / max(1, len(self.passages))
        damping = [K1 * (1 - B + B * len(passage.text.clean) / mean) for passage in self.passages]
        lexical = [0.0] * len(self.passages)
        for term, share in self.shares.items():
            for at in self.speaking[term]:
                often = self.passages[at].text.terms.get(term, 0) + (term in self.titles[at].terms)
                lexical[at] += share * often * (K1 + 1) / (often + damping[at])
        best = max(lexical, default=0.0) or 1.0
        relevance = []
        for passage, words in zip(self.passages, lexical, strict=True):
            document = passage.document
            trust = ORDERED if document.score is None and document.rerank_score is None else SCORED
            relevance.append(trust * passage.relevance + (1 - trust) * words / best)
        return relevance

    def _is_common(self, name: str) -> bool:
        common = self.common.get(name)
        if common is None:
            naming = [at for at, text in enumerate(self.normals) if name in text]
            common = self.common[name] = len(naming) > max(2, COMMON * len(self.passages))
        return common


def _recency(passages: Sequence[Passage], *, matters: bool) -> list[float]:
    """1 for the newest day among the passages, OLDEST for the oldest, evenly between; the undated are in the middle."""
    days = sorted({day(passage.document) for passage in passages} - {0}) if matters else []
    if len(days) < 2:
        return [1.0] * len(passages)
    step = (1 - OLDEST) / (len(days) - 1)
    factors = {one: OLDEST + step * at for at, one in enumerate(days)}
    return [factors.get(day(passage.document), (1 + OLDEST) / 2) for passage in passages]
