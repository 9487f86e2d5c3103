"""The walk: from a request as read to the bytes that leave, asking for what the engine cannot know.

Knows: the order of the steps, and that each answer is recorded, so that the same walk can be driven again.
Does not know: where answers come from (caches, threads, a recording), clocks, or HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.clean.text import Text
from elbowroom.count.counter import Counter, Tally
from elbowroom.decide import recap
from elbowroom.decide.access import Rights, check_model, rerank_within
from elbowroom.decide.calibration import corrected, shape
from elbowroom.decide.conversation import Costs, body, cap_tool_results, results_told, within
from elbowroom.decide.dates import time_matters
from elbowroom.decide.endpoint import Endpoint
from elbowroom.decide.evidence import Choice, Choosing, Recipe, choose, recipe_for
from elbowroom.decide.fates import as_they_came, denials, disputes, fates, source_of
from elbowroom.decide.fit import Fit, Reserve, fit, need_not_count, overflows
from elbowroom.decide.passage import Passage
from elbowroom.decide.prepare import prepare, still_there, texts_of
from elbowroom.decide.ready import Ready, ready
from elbowroom.decide.redaction import Searched, redacted
from elbowroom.decide.reranking import GIVEN
from elbowroom.decide.second import asks_again, joined, second_pass
from elbowroom.decide.signature import LabelKey
from elbowroom.draft import Draft
from elbowroom.errors import CountUnavailable, ElbowroomError, InsufficientEvidence
from elbowroom.fallback import Settled, is_prose, remark_room, settle
from elbowroom.needs import Answer, Retrieval, Steps, recorded
from elbowroom.read.classify import classify
from elbowroom.read.contract import ReservePlan, reserve
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.read.split import split
from elbowroom.records import (
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
    Reranking,
    Source,
    Split,
    Summary,
    ToolResult,
)
from elbowroom.write.envelope import note_text, pieces_of
from elbowroom.write.place import place
from elbowroom.write.remarks import language


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
    now: float | None = None  # seconds since 1970, UTC; None: nothing is stale, and nothing has expired
    label_keys: Mapping[str, LabelKey] = {}  # by `kid`: what retrievers sign access labels with
    compressor: tuple[str, ...] | None = None  # labels that the model accepts which says passages in fewer words
    summariser: tuple[str, ...] | None = None  # the same of the model that sums up earlier turns
    rerankers: Mapping[str, tuple[str, ...]] = {}  # by name: labels of documents that it accepts, where somebody said
    limited: bool = False  # tokens or money of whoever asks are limited: what is sent is counted, what is billed told

    @property
    def rights(self) -> Rights:
        return Rights(self.principal, self.policy.access, self.label_keys, self.now)


def decide(request: Request, setting: Setting) -> Steps[Packed | Refused]:
    """Asks Needs and returns `Packed` or `Refused`. The same request, setting and answers give the same bytes."""
    walk = _Walk(request, setting)
    answers: list[Answer] = []
    try:
        packed = yield from recorded(walk.run(), answers)
    except ElbowroomError as error:
        decision = structs.replace(walk.decision(counted=None), answers=tuple(answers))
        return Refused(error.code, error.message, error.param, error.status_hint, decision)
    return structs.replace(packed, decision=structs.replace(packed.decision, answers=tuple(answers)))


def recount(request: Request, setting: Setting) -> Steps[Count]:
    """The count of a request that was forwarded first: the same numbers, after the fact."""
    made = ready(request, setting.policy, setting.rights, setting.known)
    sent = (yield from redacted(made, setting.policy, setting.known)).ready.request
    tally, told = Tally(setting.counter.vocabulary), body(sent, sent.messages)
    plan = setting.counter.plan(told)
    yield from tally.measure(plan.texts)
    return corrected(tally.count(plan), setting.learned.get(shape(told, len(request.body))))


class _Walk:
    """One request on its way. What a step finds out stays here, so that a refusal can tell how far it got."""

    def __init__(self, request: Request, setting: Setting) -> None:
        self.request = request
        self.ready = Ready(request, request)
        self.searched: Mapping[int, Searched] = {}
        self.setting = setting
        self.policy = setting.policy
        self.enforce = setting.policy.mode is Mode.ENFORCE
        prefix = setting.policy.evidence.line_prefix or ""
        self.tally = Tally(setting.counter.vocabulary, prefix)
        self.note = note_text(setting.policy.format)
        self.pieces = partial(pieces_of, form=setting.policy.format, line_prefix=prefix)
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
        self.language = "en"
        self.rerank: Reranking | None = None
        self.summary: Summary | None = None
        self.settled: Settled | None = None
        self.retrieval: Retrieval | None = None

    def run(self) -> Steps[Packed]:
        """The walk itself."""
        yield from self._make_ready()
        request, policy, model = self.request, self.policy, self.setting.model
        parts = split(request)
        question, asked = self._text(parts.question), request.context.query_class
        self.language = language(question)
        self.query_class = classify(question, bool(parts.turns), policy, asked, self.setting.principal)
        query_class = policy.query_class(self.query_class.name)
        recipe = self._within(recipe_for(policy, query_class, model, self.setting.now, self.setting.compressor))
        summaries = recap.within(
            policy.history.summary, self.ready.labels_heard, self.setting.summariser, policy.access
        )
        contract = reserve(request, query_class, policy, model)
        if not model.known:
            self.notes.append(f"{model.name} is mapped to no counter: counted by an upper bound")
        if not request.tagged and not self.setting.limited and self._need_not_count(contract):
            return self._packed("", parts, counted=None)

        texts = texts_of(request.documents, self.setting.known)
        try:
            costs, reserved = yield from self._measure(parts, contract, [self.tally.body(text.clean) for text in texts])
        except CountUnavailable as error:
            if request.tagged:
                raise
            self.notes.append(f"not counted: {error.message}")
            return self._packed("", parts, counted=None)
        passages = yield from prepare(request.documents, texts, self.pieces, self.tally, self.setting.known)
        note = self.tally.tokens[self.note]
        fitted = fit(
            costs,
            reserved,
            policy,
            model,
            ceiling=recipe.limits.ceiling,
            wanted=note + sum(passage.tokens for passage in passages) if request.tagged else 0,
            follow_up=self.query_class.follow_up,
            summary=recap.room_for(summaries),
        )
        self._evict(parts, fitted)
        if fitted.summary_room:
            fitted, self.summary = yield from self.draft.summed_up(
                parts, fitted, summaries, self.language, self.setting.known, self.setting.hash_key
            )
            if self.summary is None:
                self.notes.append("degraded: earlier turns were dropped without a summary")
        elif fitted.turns_dropped and summaries is not policy.history.summary:
            self.notes.append("degraded: labels keep earlier turns from the model that sums up")
        self.fitted = fitted
        if not request.tagged:
            return self._packed("", parts, counted=self.draft.sum(fitted, 0))

        passages, lost = still_there(passages, self.searched, self.draft.gone)
        spare = yield from remark_room(recipe, self.language, len(passages), self.tally)
        choosing = partial(
            choose, question=self.setting.known.text(question), earlier=self._earlier(parts),
            budget=fitted.window.evidence_budget - note - spare, vocabulary=self.setting.counter.vocabulary,
        )  # fmt: skip
        choice = yield from choosing(passages, recipe)
        if self.enforce and question.strip() and asks_again(choice, query_class):
            choice = yield from self._second_pass(question, choice, passages, recipe, choosing)
        self._note_reranking(choice)
        choice = structs.replace(choice, packing=structs.replace(choice.packing, dropped=lost + choice.packing.dropped))
        settled = yield from self._settled(choice, recipe, query_class, parts, fitted)
        if settled.reply is not None:
            asked = (request.params.get("stream_options") or {}).get("include_usage")
            return Packed(b"", self.decision(None), (), request.stream and not asked, reply=settled.reply)
        written = settled.written
        sources = tuple(source_of(label, one.passage) for label, one in written.labelled)
        return self._packed(written.text, parts, counted=written.counted, sources=sources)

    # --- what the steps do --------------------------------------------------------------------------------------------

    def _make_ready(self) -> Steps[None]:
        """What is done to any request, in any mode, before anything is counted."""
        setting = self.setting
        self.ready = allowed = ready(self.request, self.policy, setting.rights, setting.known)
        self.fates = denials(allowed.denied, setting.hash_key)
        check_model(allowed.labels, setting.model.accepts, self.policy.access)
        found = yield from redacted(allowed, self.policy, setting.known)
        self.ready, self.searched, self.request = found.ready, found.searched, found.ready.request
        self.numbers = found.numbers
        self.shape = shape(body(self.request, self.request.messages), len(self.request.body))
        learned = setting.learned.get(self.shape)
        self.draft = Draft(self.request, setting.counter, self.tally, self.endpoint, learned)
        self.draft.homes = self.ready.homes
        self.tool_results = results_told(self.ready)
        self.notes += self.ready.notes

    def _within(self, recipe: Recipe) -> Recipe:
        """The same, without a reranker that may not be shown these documents."""
        accepts = self.setting.rerankers.get(recipe.rerank.by)
        rerank = rerank_within(self.ready.labels, recipe.rerank, accepts, self.policy.access)
        if rerank is not recipe.rerank:
            self.notes.append(f"degraded: labels keep documents from the reranker {recipe.rerank.by}")
        return structs.replace(recipe, rerank=rerank)

    def _need_not_count(self, contract: ReservePlan) -> bool:
        changed = self.ready.results_changed or Edit.REDACTED in self.ready.edits
        if self.enforce and changed:  # bytes bound tokens, and these are not the bytes that came
            return False
        return need_not_count(self.request, contract, self.policy, self.setting.counter, self.setting.model)

    def _second_pass(
        self, question: str, choice: Choice, passages: Sequence[Passage], recipe: Recipe, choosing: Choosing
    ) -> Steps[Choice]:
        """The choice among these passages and whatever a retriever has for what the admitted do not speak of."""
        setting, by = self.setting, recipe.rerank.by
        shown_to = [setting.model.accepts, *([] if by == GIVEN else [setting.rerankers.get(by)])]
        second = yield from second_pass(
            question, choice.packing.admitted, self.ready, self.policy, setting.rights, shown_to, self.pieces,
            self.tally, setting.known, setting.hash_key, self.numbers,
        )  # fmt: skip
        self.retrieval, self.notes = second.told, [*self.notes, *second.notes]
        self.ready, self.searched = joined(self.ready, second), {**self.searched, **second.found.searched}
        self.fates, self.request = self.fates + denials(second.found.ready.denied, setting.hash_key), self.ready.request
        more, lost = still_there(second.passages, self.searched, ())
        choice = (yield from choosing((*passages, *more), recipe)) if more else choice
        return structs.replace(choice, packing=structs.replace(choice.packing, dropped=lost + choice.packing.dropped))

    def _measure(self, parts: Split, contract: ReservePlan, bodies: Sequence[str]) -> Steps[tuple[Costs, Reserve]]:
        """Caps tool results and counts every part; one question asks for all recurring texts of the request."""
        request, policy, tally, draft = self.request, self.policy, self.tally, self.draft
        if self.enforce:
            draft.messages, self.tool_results = yield from cap_tool_results(
                self.ready, policy, tally, only_named=not request.tagged
            )
        costs = yield from draft.costs(parts, [*bodies, *contract.texts, self.note])
        tokens = contract.constant + sum(tally.tokens[text] for text in contract.texts)
        reserved = Reserve(tokens, contract.client_max, contract.n)
        if self.enforce and not request.tagged and overflows(costs, reserved, self.setting.model):
            draft.messages, self.tool_results = yield from cap_tool_results(self.ready, policy, tally, only_named=False)
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

    def _note_reranking(self, choice: Choice) -> None:
        self.rerank = choice.rerank
        if choice.rerank is not None and choice.rerank.state == "failed":
            self.notes.append("degraded: the reranker gave no order, the caller's was taken")

    def _settled(
        self, choice: Choice, recipe: Recipe, query_class: QueryClass, parts: Split, fitted: Fit
    ) -> Steps[Settled]:
        """The evidence in words, or what the class wants where it is not enough. Raises `InsufficientEvidence`."""
        setting, policy = self.setting, self.policy
        tell = partial(
            self.draft.evidence, parts=parts, fitted=fitted, order=recipe.order, nonce_key=setting.nonce_key,
            form=policy.format,
        )  # fmt: skip
        self.settled = settled = yield from settle(
            choice, recipe, query_class if self.enforce else None, tell, language=self.language,
            prose=is_prose(self.request), pieces=self.pieces, known=setting.known, tally=self.tally,
            retrieved=self.retrieval is not None,
        )  # fmt: skip
        written = settled.written
        told = fates(written.labelled, written.dropped, choice.also_in, setting.hash_key, choice.disputes)
        told = as_they_came(told, self.searched, setting.known, setting.hash_key)
        self.fates = tuple(sorted(self.fates + told, key=lambda fate: fate.position))
        self.notes += [*disputes(self.fates), *settled.notes]
        if settled.lacks:
            self.notes.append(settled.lacks)
        if settled.fallback == "refuse":
            raise InsufficientEvidence(f"The evidence is not sufficient for this question: {settled.lacks}.")
        self.evidence_tokens = 0 if settled.reply is not None else written.tokens
        return settled

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
            self.ready.came,
            self.draft.sent(evidence, parts),
            model=self.setting.model,
            ask_usage=request.tagged or self.setting.limited,
            max_tokens=clamped,
            output_cap=self.setting.principal.output_cap or self.policy.answer.output_cap,
            made=self.ready.edits,
        )
        happened = {
            Edit.EVIDENCE_ADDED: bool(evidence) or any(self.draft.placed.values()),
            Edit.TOOL_RESULT_CAPPED: any(result.capped for result in self.tool_results),
            Edit.HISTORY_SUMMARISED: self.summary is not None,
            Edit.HISTORY_EVICTED: len(self.draft.gone) > len(self.examples_gone),
            Edit.EXAMPLES_EVICTED: bool(self.examples_gone),
        }
        self.edits = (*placed.edits, *(edit for edit, happens in happened.items() if happens))
        asked = Edit.USAGE_ASKED in self.edits
        return Packed(placed.body, self.decision(counted), sources, asked, placed.output_limit, tools=self.ready.tools)

    def decision(self, counted: Count | None) -> Decision:
        """All that is decided so far."""
        policy = self.policy
        dated = self.ready.dated or time_matters(self.request.documents, policy.sources)
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
            reranked_count=self.rerank.candidates if self.rerank is not None and self.rerank.state != "failed" else 0,
            tool_results=self.tool_results,
            rerank=self.rerank,
            history_summary=self.summary,
            evidence_sufficient=not self.settled.lacks if self.settled is not None and self.settled.judged else None,
            retrieval=self.retrieval,
            lacks=self.settled.lacks if self.settled is not None else "",
            fallback=self.settled.fallback if self.settled is not None else None,
            history_dropped=tuple(sorted(self.draft.gone.difference(self.examples_gone))),
            examples_dropped=self.examples_gone,
            edits=self.edits,
            notes=tuple(self.notes),
            answers=(),
            shape=self.shape,
            learned=self.setting.learned.get(self.shape),
            now=self.setting.now if dated else None,
            tools_removed=self.ready.tools_removed,
            tools_removed_by=self.ready.tools_removed_by,
            labels=tuple(sorted(self.ready.labels)),
            label_incomplete=sum(one.incomplete for one in self.ready.denied),
            redactions=self.ready.redactions,
            limited=self.setting.limited,
        )

    def _text(self, index: int | None) -> str:
        return "" if index is None else self.request.messages[index].text

    def _earlier(self, parts: Split) -> Text | None:
        """The user's previous turn, where the question follows up on it."""
        if not self.query_class.follow_up:
            return None
        said = [i for turn in parts.turns for i in turn if self.request.messages[i].role == "user"]
        return self.setting.known.text(self._text(said[-1])) if said else None
