"""Cases packed in several ways, and measured: in this process or in several, and not twice where a file remembers.

Knows: how the engine is driven over a case, what of its outcome is measured, how work is divided, what a results file
holds.
Does not know: where cases come from, how a policy was chosen, or how the numbers are shown.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from elbowroom import count
from elbowroom.account.evaluate import Yardstick, bodies
from elbowroom.account.summary import Result
from elbowroom.account.verdict import Diagnosis, diagnose, judge
from elbowroom.clean.known import Known
from elbowroom.decision import Setting, decide
from elbowroom.errors import ElbowroomError
from elbowroom.read.policy import Evidence, EvidenceOverride, Policy
from elbowroom.read.request import read_request
from elbowroom.records import Model, Packed, Refused, Request
from elbowroom_proxy.answering import drive_here
from elbowroom_proxy.cli.cases import Case, Variant
from elbowroom_proxy.cli.offline import answering
from elbowroom_proxy.principal import OPEN
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies

KEY = b"elbowroom trials, offline"  # it protects nothing: nothing leaves
KNOWN_BYTES = 64 << 20
ANY = 1 << 20  # more passages, or tokens, than any case has
CHUNK = 4  # cases handed to a process at once
WORTH_IT = 64  # fewer cases are done before another process has started

AS_GIVEN = Variant()

E = TypeVar("E", bound=Evidence | EvidenceOverride)


class Setup(Struct, frozen=True):
    """One way of packing."""

    name: str  # of the policy, as it is printed
    packer: str
    budget: int | None  # tokens of evidence; None: the policy's own ceilings
    uncapped: bool
    policy: Policy  # all of that put into it
    variant: Variant = AS_GIVEN

    @property
    def digest(self) -> str:
        """Of everything that can make a difference."""
        return _digest(msgspec.json.encode([self.policy, self.variant]))


def setup(
    name: str, policy: Policy, *, packer: str | None, budget: int | None, uncapped: bool, variant: Variant = AS_GIVEN
) -> Setup:
    """The policy with this packer and budget. `uncapped` takes off every other cap on evidence, and the classes' rules,
    which cap it, too: the packer alone decides.
    """
    packer = packer or policy.packer
    classes = tuple(
        structs.replace(one, evidence=_capped(one.evidence, budget, uncapped=uncapped)) for one in policy.classes
    )
    evidence = _capped(policy.evidence, budget, uncapped=uncapped)
    chosen = structs.replace(policy, packer=packer, evidence=evidence, classes=classes)
    if uncapped:
        classes = tuple(structs.replace(one, rule=None) for one in classes)
        chosen = structs.replace(chosen, classes=classes, input_limit=ANY)
    return Setup(name, packer, budget, uncapped, chosen, variant)


class Bench:
    """The engine with everything that it asks for, for one process."""

    def __init__(self, setups: Sequence[Setup], model: Model, tokenizers: Mapping[str, Path]) -> None:
        self.setups = setups
        self._answer = answering(Tokens(Vocabularies(files=tokenizers), secret=KEY))
        self._known = Known(KNOWN_BYTES)
        self._model = model
        self._counter = count.build(model)

    def results(self, case: Case) -> list[Result] | str:
        """The case packed in each way and measured; for a case that is no request, why."""
        try:
            read = {variant: self.read(case.varied(variant)) for variant in {one.variant for one in self.setups}}
            whole = _texts(self.read(case))
        except ElbowroomError as error:
            return f"{case.id}: {error.message}"
        yardstick = Yardstick(case.expected, case.texts, whole)
        retrieved = {variant: yardstick.credits(_texts(request)) for variant, request in read.items()}
        found = []
        for one in self.setups:
            start = time.perf_counter()
            outcome = self.pack(read[one.variant], one)
            ms = 1000 * (time.perf_counter() - start)
            found.append(measured(case, one, outcome, yardstick, retrieved[one.variant], ms))
        return found

    def read(self, case: Case) -> Request:
        """The case as a request. Raises `ElbowroomError`."""
        return read_request(case.request(self._model.name), {}, max_documents=ANY)

    def pack(self, request: Request, setup: Setup) -> Packed | Refused:
        """One decision, by the engine that serves."""
        setting = Setting(
            principal=OPEN,
            policy=setup.policy,
            model=structs.replace(self._model, context_window=ANY) if setup.uncapped else self._model,
            counter=self._counter,
            nonce_key=KEY,
            hash_key=KEY,
            known=self._known,
        )
        return drive_here(decide(request, setting), self._answer)


def _texts(request: Request) -> list[str]:
    return [one.text or "" for one in request.documents]


def measured(
    case: Case,
    setup: Setup,
    outcome: Packed | Refused,
    yardstick: Yardstick,
    retrieved: Sequence[float],
    ms: float,
) -> Result:
    """What is kept of an outcome; `retrieved` are the groups' credits if every candidate were admitted, `ms` the time
    that the decision took. A refused request admitted nothing.
    """
    sent: dict[str, str] = {}
    lost_by: tuple[str, ...] = ("refused",)
    tokens = prompt_tokens = budget = 0
    labels: dict[str, str] = {}
    if isinstance(outcome, Packed):
        decision = outcome.decision
        sent = bodies(json.loads(outcome.body)["messages"][-1]["content"])
        labels = {source.id: source.label for source in outcome.sources} | {label: label for label in sent}
        wanted = {one.id for group in case.expected.groups for one in group}
        lost_by = tuple(fate.reason.value for fate in decision.documents if fate.reason and fate.id in wanted)
        tokens, prompt_tokens = decision.evidence_tokens, decision.counted.tokens if decision.counted else 0
        budget = decision.window.evidence_budget if decision.window else 0
    admitted = yardstick.credits(sent.values())
    score = yardstick.score(list(sent.values()))
    verdict = None if case.answer is None else judge(case.answer, yardstick, sent, labels)
    diagnosis = diagnose(retrieved, admitted, verdict)
    return Result(
        case=case.id,
        lang=case.lang,
        dataset=case.dataset,
        query_class=case.query_class,
        retrieved=sum(retrieved) / len(retrieved),
        recall=score.recall,
        all=score.all,
        answer=score.answer,
        tokens=tokens,
        over=tokens > (budget if setup.budget is None else setup.budget),
        prompt_tokens=prompt_tokens,
        diagnosis=diagnosis,
        lost_by=lost_by if diagnosis is Diagnosis.PACKING else (),
        judged=verdict is not None,
        cited=sum(verdict.cited) / len(verdict.cited) if verdict else None,
        supported=verdict.supported if verdict else None,
        sentences=verdict.sentences if verdict else 0,
        grounded=verdict.grounded if verdict else 0,
        ms=round(ms, 3),
    )


class Trials(Struct, frozen=True):
    """Cases done: a list of results for each setup, in the cases' order, and what was no request."""

    results: list[list[Result]]
    faults: list[str]


def run(
    cases: Sequence[Case],
    setups: Sequence[Setup],
    model: Model,
    tokenizers: Mapping[str, Path],
    *,
    jobs: int = 1,
    file: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trials:
    """Packs every case in every way. What `file` holds of the same case, setups and model is not done again, and what
    is done is put into it at once, so that an interrupted run goes on where it ended.
    """
    same = _digest(msgspec.json.encode([version("elbowroom"), model, [one.digest for one in setups]]))
    keys = [_digest(same.encode() + msgspec.json.encode(case)) for case in cases]
    done = _remembered(file) if file is not None else {}
    todo = [(key, case) for key, case in zip(keys, cases, strict=True) if key not in done]
    faults = []
    with _appending(file) as keep:
        for n, ((key, _), outcome) in enumerate(
            zip(todo, _work([case for _, case in todo], setups, model, tokenizers, jobs), strict=True), start=1
        ):
            if progress is not None:
                progress(len(cases) - len(todo) + n, len(cases))
            if isinstance(outcome, str):
                faults.append(outcome)
            else:
                done[key] = outcome
                keep(key, outcome)
    by_case = [done[key] for key in keys if key in done]
    return Trials([[some[at] for some in by_case] for at in range(len(setups))], faults)


def _capped(evidence: E, budget: int | None, *, uncapped: bool) -> E:
    if uncapped:
        caps = dict.fromkeys(("max_passages", "per_source", "max_passage_tokens", "rerank_keep", "beside_section"), ANY)
        return structs.replace(evidence, ceiling=budget or ANY, **caps)
    if budget is None:
        return evidence
    return structs.replace(evidence, ceiling=min(budget, budget if evidence.ceiling is None else evidence.ceiling))


def _work(
    cases: Sequence[Case], setups: Sequence[Setup], model: Model, tokenizers: Mapping[str, Path], jobs: int
) -> Iterator[list[Result] | str]:
    """In the cases' order."""
    if jobs < 2 or len(cases) < WORTH_IT:
        bench = Bench(setups, model, tokenizers)
        yield from map(bench.results, cases)
        return
    # A fresh interpreter: this one may have threads, which do not survive a fork.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (setups, model, dict(tokenizers))) as pool:
        yield from pool.map(_one, cases, chunksize=CHUNK)


_bench: list[Bench] = []  # the one of this process


def _begin(setups: Sequence[Setup], model: Model, tokenizers: Mapping[str, Path]) -> None:
    _bench.append(Bench(setups, model, tokenizers))


def _one(case: Case) -> list[Result] | str:
    return _bench[0].results(case)


class _Kept(Struct):
    """A line of a results file."""

    key: str
    results: list[Result]


def _remembered(file: Path) -> dict[str, list[Result]]:
    """What a results file holds; a torn last line, or one of another kind, is passed over."""
    found = {}
    for line in file.read_bytes().split(b"\n") if file.is_file() else ():
        with suppress(msgspec.MsgspecError):
            kept = msgspec.json.decode(line, type=_Kept)
            found[kept.key] = kept.results
    return found


@contextmanager
def _appending(file: Path | None) -> Iterator[Callable[[str, list[Result]], None]]:
    if file is None:
        yield lambda *_: None
        return
    with file.open("ab") as out:

        def keep(key: str, results: list[Result]) -> None:
            out.write(msgspec.json.encode(_Kept(key, results)) + b"\n")
            out.flush()

        out.write(b"\n")  # whatever a killed run left half written ends here
        yield keep


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
