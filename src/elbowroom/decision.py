"""The walk: from a request as read to the bytes that leave, asking for what the engine cannot know.

Knows: the order of the steps, and that each answer is recorded, so that the same walk can be driven again.
Does not know: where answers come from (caches, threads, a recording), clocks, or HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.count.counter import Counter, Tally
from elbowroom.decide.calibration import corrected, shape
from elbowroom.decide.conversation import Costs, body, cap_tool_results, within
from elbowroom.decide.endpoint import Endpoint
from elbowroom.decide.evidence import Choice, Recipe, choose, recipe_for
from elbowroom.decide.fates import fates, source_of
from elbowroom.decide.fit import Fit, Reserve, fit, need_not_count, overflows
from elbowroom.decide.passage import Packing
from elbowroom.decide.prepare import body_text, prepare, texts_of
from elbowroom.draft import Draft, Written
from elbowroom.errors import CountUnavailable, ElbowroomError
from elbowroom.read.classify import classify
from elbowroom.read.contract import ReservePlan, reserve
from elbowroom.read.policy import Policy
from elbowroom.read.split import split
from elbowroom.records import (
    Answer,
    Basis,
    Classified,
    Count,
    Decision,
    Edit,
    Fate,
    Learned,
    Mode,
    Model,
    Packed,
    Principal,
    Refused,
    Request,
    Source,
    Split,
    Steps,
    ToolResult,
)
from elbowroom.write.envelope import note_text, pieces_of, scope_text
from elbowroom.write.place import place

_HAN = re.compile("[\u4e00-\u9fff]")


class Setting(Struct, frozen=True):
    """What holds for one request beside the request itself."""

    principal: Principal
    policy: Policy
    model: Model
    counter: Counter
    nonce_key: bytes
    hash_key: bytes
    known: Known
    endpoint: bool = False  # the service can ask the model's own counting endpoint
    learned: Mapping[str, Learned] = {}  # by shape of request: what this model's bills have taught


def decide(request: Request, setting: Setting) -> Steps[Packed | Refused]:
    """Asks Needs and returns `Packed` or `Refused`. The same request, setting and answers give the same bytes."""
    walk = _Walk(request, setting)
    answers: list[Answer] = []
    steps = walk.run()
    try:
        need = next(steps)
        while True:
            try:
                answer = yield need
            except ElbowroomError as error:  # the question cannot be answered; the step that asked may know better
                need = steps.throw(error)
            else:
                answers.append(answer)
                need = steps.send(answer)
    except StopIteration as stop:
        packed: Packed = stop.value
        return structs.replace(packed, decision=structs.replace(packed.decision, answers=tuple(answers)))
    except ElbowroomError as error:
        decision = structs.replace(walk.decision(counted=None), answers=tuple(answers))
        return Refused(error.code, error.message, error.param, error.status_hint, decision)


def recount(request: Request, setting: Setting) -> Steps[Count]:
    """The count of a request that was forwarded first: the same numbers, after the fact."""
    tally, told = Tally(setting.counter.vocabulary), body(request, request.messages)
    plan = setting.counter.plan(told)
    yield from tally.measure(plan.texts)
    return corrected(tally.count(plan), setting.learned.get(shape(told, len(request.body))))


class _Walk:
    """One request on its way. What a step finds out stays here, so that a refusal can tell how far it got."""

    def __init__(self, request: Request, setting: Setting) -> None:
        self.request = request
        self.setting = setting
        self.policy = setting.policy
        self.enforce = setting.policy.mode is Mode.ENFORCE
        self.tally = Tally(setting.counter.vocabulary)
        self.note = note_text(setting.policy.format)
        self.pieces = partial(pieces_of, form=setting.policy.format)
        self.shape = shape(body(request, request.messages), len(request.body))
        self.endpoint = Endpoint(setting.model, setting.endpoint, setting.policy.counting)
        learned = setting.learned.get(self.shape)
        self.draft = Draft(request, setting.counter, self.tally, self.endpoint, learned)
        self.query_class = Classified(setting.policy.default_class, "default")
        self.tool_results: tuple[ToolResult, ...] = ()
        self.fitted: Fit | None = None
        self.examples_gone: tuple[int, ...] = ()
        self.fates: tuple[Fate, ...] = ()
        self.evidence_tokens = 0
        self.edits: tuple[Edit, ...] = ()
        self.notes: list[str] = []

    def run(self) -> Steps[Packed]:
        """The walk itself."""
        request, policy, model = self.request, self.policy, self.setting.model
        parts = split(request)
        question, asked = self._text(parts.question), request.context.query_class
        self.query_class = classify(question, bool(parts.turns), policy, asked, self.setting.principal)
        query_class = policy.query_class(self.query_class.name)
        recipe = recipe_for(policy, query_class, model)
        contract = reserve(request, query_class, policy, model)
        if not model.known:
            self.notes.append(f"{model.name} is mapped to no counter: counted by an upper bound")
        if not request.tagged and need_not_count(request, contract, policy, self.setting.counter, model):
            return self._packed("", parts, counted=None)

        texts = texts_of(request.documents, self.setting.known)
        try:
            costs, reserved = yield from self._measure(parts, contract, [body_text(text) for text in texts])
        except CountUnavailable as error:
            if request.tagged:
                raise
            self.notes.append(f"not counted: {error.message}")
            return self._packed("", parts, counted=None)
        passages = yield from prepare(request.documents, texts, self.pieces, self.tally, self.setting.known)
        note = self.tally.tokens[self.note]
        self.fitted = fitted = fit(
            costs,
            reserved,
            policy,
            model,
            ceiling=recipe.limits.ceiling,
            wanted=note + sum(passage.tokens for passage in passages) if request.tagged else 0,
            follow_up=self.query_class.follow_up,
        )
        self._evict(parts, fitted)
        if not request.tagged:
            return self._packed("", parts, counted=self.draft.sum(fitted, 0))

        choice = yield from choose(
            passages,
            recipe,
            question=self.setting.known.text(question),
            earlier=self._earlier(parts),
            budget=fitted.window.evidence_budget - note,
            vocabulary=self.setting.counter.vocabulary,
        )
        written = yield from self._write(choice, recipe, parts, fitted)
        sources = tuple(source_of(label, one.passage) for label, one in written.labelled)
        return self._packed(written.text, parts, counted=written.counted, sources=sources)

    # --- what the steps do --------------------------------------------------------------------------------------------

    def _measure(self, parts: Split, contract: ReservePlan, bodies: Sequence[str]) -> Steps[tuple[Costs, Reserve]]:
        """Caps tool results and counts every part; one question asks for all recurring texts of the request."""
        request, policy, tally, draft = self.request, self.policy, self.tally, self.draft
        if self.enforce:
            draft.messages, self.tool_results = yield from cap_tool_results(
                request, policy, tally, only_named=not request.tagged
            )
        costs = yield from draft.costs(parts, [*bodies, *contract.texts, self.note])
        tokens = contract.constant + sum(tally.tokens[text] for text in contract.texts)
        reserved = Reserve(tokens, contract.client_max, contract.n)
        if self.enforce and not request.tagged and overflows(costs, reserved, self.setting.model):
            draft.messages, self.tool_results = yield from cap_tool_results(request, policy, tally, only_named=False)
            costs = yield from draft.costs(parts)
        limit = self.setting.model.context_window
        room = (min(policy.input_limit, limit) if request.tagged and self.enforce else limit) - tokens
        told = body(request, draft.messages)
        total = yield from self.endpoint.confirmed(costs.total, room, told, final=not request.tagged)
        draft.off = total.tokens - costs.total.tokens
        return within(costs, total), reserved

    def _evict(self, parts: Split, fitted: Fit) -> None:
        examples = parts.examples[len(parts.examples) - fitted.examples_dropped :]
        turns = [index for turn in parts.turns[: fitted.turns_dropped] for index in turn]
        self.draft.gone = frozenset([*examples, *turns])
        self.examples_gone = examples
        if fitted.clamped_max is not None:
            self.notes.append(f"the client's maximum did not fit and was lowered to {fitted.clamped_max}")

    def _write(self, choice: Choice, recipe: Recipe, parts: Split, fitted: Fit) -> Steps[Written]:
        """The evidence in words; where there is none, in words too."""
        key = self.setting.nonce_key
        written = yield from self.draft.evidence(
            choice.packing, parts, fitted, order=recipe.order, nonce_key=key, form=self.policy.format
        )
        if not written.labelled and self.enforce:
            scope = scope_text("zh" if _HAN.search(self._text(parts.question)) else "en")
            nothing = Packing((), written.dropped)
            written = yield from self.draft.evidence(
                nothing, parts, fitted, order=recipe.order, nonce_key=key, form=self.policy.format, remark=scope
            )
            self.notes.append("no evidence was admitted")
        self.evidence_tokens = written.tokens
        self.fates = fates(written.labelled, written.dropped, choice.also_in, self.setting.hash_key)
        return written

    # --- what comes out -----------------------------------------------------------------------------------------------

    def _packed(
        self, evidence: str, parts: Split, *, counted: Count | None, sources: tuple[Source, ...] = ()
    ) -> Packed:
        request, fitted = self.request, self.fitted
        if self.endpoint.missed and counted is not None:
            counted = Count(counted.tokens + counted.margin, Basis.BOUNDED)
            self.notes.append("the provider's counting endpoint could not be reached")
        clamped = fitted.clamped_max if fitted is not None else None
        placed = place(
            request,
            self.draft.sent(evidence, parts),
            model=self.setting.model,
            ask_usage=request.tagged,
            max_tokens=clamped,
            output_cap=self.policy.answer.output_cap,
        )
        happened = {
            Edit.EVIDENCE_ADDED: bool(evidence),
            Edit.TOOL_RESULT_CAPPED: any(result.capped for result in self.tool_results),
            Edit.HISTORY_EVICTED: len(self.draft.gone) > len(self.examples_gone),
            Edit.EXAMPLES_EVICTED: bool(self.examples_gone),
        }
        self.edits = (*placed.edits, *(edit for edit, happens in happened.items() if happens))
        return Packed(placed.body, self.decision(counted), sources, Edit.USAGE_ASKED in self.edits)

    def decision(self, counted: Count | None) -> Decision:
        """All that is decided so far."""
        policy = self.policy
        return Decision(
            mode=policy.mode,
            model=self.request.model,
            policy_id=policy.id,
            policy_version=policy.version,
            policy_digest=policy.digest,
            query_class=self.query_class,
            window=self.fitted.window if self.fitted is not None else None,
            counted=counted,
            documents=self.fates,
            evidence_tokens=self.evidence_tokens,
            reranked_count=sum(one.rerank_score is not None for one in self.request.documents),
            tool_results=self.tool_results,
            history_dropped=tuple(sorted(self.draft.gone.difference(self.examples_gone))),
            examples_dropped=self.examples_gone,
            edits=self.edits,
            notes=tuple(self.notes),
            answers=(),
            shape=self.shape,
            learned=self.setting.learned.get(self.shape),
        )

    def _text(self, index: int | None) -> str:
        return "" if index is None else self.request.messages[index].text

    def _earlier(self, parts: Split) -> Text | None:
        """The user's previous turn, where the question follows up on it."""
        if not self.query_class.follow_up:
            return None
        said = [i for turn in parts.turns for i in turn if self.request.messages[i].role == "user"]
        return self.setting.known.text(self._text(said[-1])) if said else None
