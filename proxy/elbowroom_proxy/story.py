"""What happened to one request, gathered while it happens, told once.

Knows: the ids, the clock, which facts the record, the metrics and the log line want, and that a count or a settlement
which is still under way is waited for before the record is written.
Does not know: the order of the steps (`flow` has that), HTTP, or any text of the request or the answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Protocol

import structlog
from msgspec import structs

from elbowroom.account import sample
from elbowroom.account.trace import VERSION, Aside, Billed, Cited, Facts, LinksFlagged, Relay, record, report
from elbowroom.budget.usage import usage_of
from elbowroom.decide.rollout import Stage
from elbowroom.read.policy import Policy
from elbowroom.records import Count, Decision, Model, Principal, Request
from elbowroom.write.citations import Citation
from elbowroom.write.links import Link
from elbowroom_proxy import ids, splice, wire
from elbowroom_proxy.budget import Budget
from elbowroom_proxy.calibration import Calibration, too_long
from elbowroom_proxy.metrics import OUTSIDE, TOO_LONG, UNMAPPED, Metrics
from elbowroom_proxy.ports import Texts, TraceSink
from elbowroom_proxy.texts import Keeper, Seen, Told

log = structlog.get_logger("elbowroom")


class Said(Protocol):
    """What is known of an answer, streamed or whole."""

    @property
    def usage(self) -> Mapping[str, Any] | None: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def citations(self) -> tuple[Citation, ...]: ...
    @property
    def invented(self) -> tuple[str, ...]: ...
    @property
    def foreign_links(self) -> tuple[Link, ...]: ...
    @property
    def calls_refused(self) -> int: ...
    @property
    def calls_tainted(self) -> int: ...
    @property
    def calls(self) -> Sequence[str]: ...
    @property
    def text(self) -> str: ...


class Story:
    """One request's. The attributes are set as they become known; until then every request has the same."""

    principal: Principal | None = None
    request: Request | None = None
    model: Model | None = None
    decision: Decision | None = None
    policy: Policy | None = None
    permitted = False  # which documents may be seen was decided
    counting: asyncio.Task[Count] | None = None
    status: int | None = None
    error: dict[str, str | None] | None = None
    said: Said | None = None
    refusal: bytes | None = None  # the body of an upstream's error
    disconnected = False
    own = False  # no upstream was asked; the answer is the proxy's own
    relayed: Relay | None = None  # where it is no chat
    stream = False  # likewise
    stage: Stage | None = None
    propose: Callable[[Facts], str] | None = None  # None: it is not in shadow
    _shadow: str | None = None
    _told = False

    def __init__(
        self,
        headers: Mapping[str, str],
        metrics: Metrics,
        sink: TraceSink,
        calibration: Calibration | None = None,
        keeper: Keeper | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock`: seconds since 1970."""
        drawn = ids.drawn()
        self.trace_id, self.request_id = drawn[:32], f"req_{drawn[32:]}"
        self.budget = Budget(None, self.trace_id)
        self.notes: set[str] = set()
        self.asides: list[Aside] = []
        self._time = datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds")
        self._client_request_id = headers.get("x-client-request-id")
        self._metrics = metrics
        self._sink = sink
        self._headers = headers
        self._keeper = keeper
        self._texts = keeper.nothing if keeper is not None else Told()
        self._calibration = calibration or Calibration()
        self._clock = perf_counter()
        self._timings: dict[str, float] = {}
        metrics.open += 1

    def restart(self) -> None:
        """The request is read to its end: times count from here, not from a slow client's first byte."""
        self._clock = perf_counter()

    def mark(self, name: str) -> None:
        """Keeps the milliseconds from the request to here, the first time."""
        self._timings.setdefault(name, round((perf_counter() - self._clock) * 1000, 3))

    def begun(self) -> None:
        """The answer is on its way, so that what waited for it may be done."""
        if self.propose is not None:
            self._shadow = self.propose(self._facts())

    def fail(self, status: int, code: str, message: str, param: str | None = None) -> None:
        """The request ends in an error; the first one is the one that counts."""
        self.status = self.status or status
        self.error = self.error or {"code": code, "message": message, "param": param}

    def headers(self) -> dict[str, str]:
        """The response headers that are ours, with the count of a request that was forwarded first, if it is known."""
        decision, counted = self.decision, self._counted()
        if decision is not None and counted is not None:
            decision = structs.replace(decision, counted=counted)
        ours = wire.decision_headers(self.trace_id, self.request_id, decision)
        return {**ours, **self.budget.headers()}

    def report(self) -> bytes | None:
        """JSON for the client who asked how its request was decided."""
        if self.request is None or not self.request.context.explain:
            return None
        return splice.quote(report(record(self.decision, self._facts())))

    def end(self) -> None:
        """Tells: at once, or as soon as the count is known and the hold settled. Idempotent."""
        if self._told:
            return
        self._told = True
        self.mark("total")
        self._tell_when_known()

    def _tell_when_known(self, _: asyncio.Task[Any] | None = None) -> None:
        for task in (self.counting, self.settle()):
            if task is not None and not task.done():
                task.add_done_callback(self._tell_when_known)
                return
        self._tell()

    def settle(self) -> asyncio.Task[None] | None:
        """Begins to settle what was held, by what the upstream billed if it did; None: nothing was. Idempotent."""
        if self.said is not None:
            self.budget.usage = usage_of(self.said.usage)
        return self.budget.settle()

    async def settled(self) -> None:
        """Returns when it is settled. Whoever is cancelled while it waits does not stop it."""
        if (task := self.settle()) is not None:
            await asyncio.shield(task)

    def _counted(self) -> Count | None:
        task = self.counting
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()

    def _facts(self) -> Facts:
        said, principal = self.said, self.principal
        notes = set(self.notes)
        if self.counting is not None and self.counting.done() and self._counted() is None:
            notes.add("not_counted")
        return Facts(
            trace_id=self.trace_id,
            time=self._time,
            request_id=self.request_id,
            client_request_id=self._client_request_id,
            conversation_id=self.request.context.conversation_id if self.request else None,
            subject=principal.subject if principal else None,
            tenant=principal.tenant if principal else None,
            principal=principal,
            upstream=self.model.upstream if self.model and not self.own else None,
            upstream_model=self.model.upstream_model if self.model and not self.own else None,
            stream=self.request.stream if self.request else self.stream,
            relayed=self.relayed,
            status=self.status,
            error=self.error,
            finish_reason=said.finish_reason if said else None,
            counted=self._counted(),
            billed=_billed(said.usage) if said else None,
            cited=self._cited(said) if said else None,
            calls_refused=said.calls_refused if said else 0,
            calls_tainted=said.calls_tainted if said else 0,
            links_flagged=_flagged(said) if said else LinksFlagged(),
            timings_ms=dict(self._timings),
            asides=tuple(self.asides),
            disconnected=self.disconnected,
            hold=self.budget.told,
            settlement=self.budget.settlement,
            notes=tuple(sorted(notes)),
            killed=self.stage is not None and self.stage.killed,
            cohort=self.stage.cohort if self.stage is not None else None,
            shadow=self._shadow,
            counter=f"{model.counter} {model.family} {model.vocabulary}" if (model := self.model) else None,
            hash_key_id=self._texts.hash_key_id,
            instructions=self._texts.instructions,
            tools=self._texts.tools,
            results_since=self._texts.results_since,
            captured=self._texts.captured,
        )

    def _cited(self, said: Said) -> Cited | None:
        admitted = [fate.label for fate in self.decision.documents if fate.label] if self.decision else []
        if not admitted:
            return None
        verified = _once(one.label for one in said.citations if one.status == "verified")
        uncited = tuple(label for label in admitted if label not in verified)
        return Cited(verified, _once(said.invented), uncited)

    def _calibrate(self) -> None:
        """Compares the count with the bill, or with a refusal as too long, and notes what does not agree."""
        model, decision = self.model, self.decision
        counted = (decision.counted if decision is not None else None) or self._counted()
        if model is None or decision is None or counted is None:
            return
        billed = _billed(self.said.usage) if self.said else None
        if billed and self._calibration.billed(model, decision.shape, counted, billed.prompt_tokens):
            self.notes.add(OUTSIDE)
        if self.refusal is not None and too_long(self.status or 0, self.refusal):
            self._calibration.refused(model, decision.shape, counted, self.refusal)
            self.notes.add(TOO_LONG)
        if not self.notes.isdisjoint((OUTSIDE, TOO_LONG)):
            log.warning(
                "count",
                trace_id=self.trace_id,
                model=model.name,
                shape=decision.shape,
                counted=counted.tokens,
                basis=counted.basis,
                margin=counted.margin,
                billed=billed.prompt_tokens if billed else None,
                notes=sorted(self.notes),
            )

    def _tell(self) -> None:
        self._calibrate()
        if self.model is not None and not self.model.known:
            self.notes.add(UNMAPPED)
        kept = self._kept()
        told = record(self.decision, self._facts())
        metrics, timings = self._metrics, self._timings
        sampled = self._keeper is None or sample.kept(told, self._keeper.traces.sample)
        traced = sampled and self._sink.write(told, kept)
        if sampled and not traced:
            metrics.traces_lost.inc()
        metrics.tell(told)
        if self.budget.glanced:
            return  # who has nothing left is heard of again and again; the record and the metrics have it
        log.info(
            "request",
            trace_id=self.trace_id,
            request_id=self.request_id,
            model=self.model.name if self.model else None,
            query_class=told["query_class"],
            mode=told["mode"],
            status=self.status,
            code=self.error["code"] if self.error else None,
            disconnected=self.disconnected,
            documents=len(told["documents"]),
            admitted=len(told.get("accepted_chunk_ids", ())),
            evidence_tokens=told.get("evidence_tokens"),
            counted=told["counted"]["tokens"] if told["counted"] else None,
            billed=told["billed"]["prompt_tokens"] if told["billed"] else None,
            overhead_ms=timings.get("overhead"),
            total_ms=timings.get("total"),
            notes=told["notes"],
            traced=traced,
        )

    def _kept(self) -> Texts | None:
        """What is to be kept beside the record, which is told of it."""
        if self._keeper is None or (self.request is None and self.policy is None):
            return None
        said = self.said
        seen = Seen(
            trace_id=self.trace_id,
            day=datetime.fromisoformat(self._time).date(),
            principal=self.principal,
            request=self.request,
            decision=self.decision,
            policy=self.policy,
            permitted=self.permitted,
            headers=self._headers,
            calls=said.calls if said else (),
            answer=said.text if said else "",
        )
        self._texts, texts = self._keeper.of(seen)
        return texts

    @property
    def keeps_answer(self) -> bool:
        """Whether the answer's text is kept."""
        day = datetime.fromisoformat(self._time).date()
        return self._keeper is not None and self._keeper.captures(self.principal, day)

    async def promise(self) -> None:
        """Says that the request is about to leave, where that must be on the disk first. Raises `TraceUnavailable`."""
        if self._keeper is None or not self._keeper.promises:
            return
        principal = self.principal
        intent = {
            "kind": "intent",
            "version": VERSION,
            "trace_id": self.trace_id,
            "request_id": self.request_id,
            "time": self._time,
            "tenant": principal.tenant if principal else None,
            "subject": principal.subject if principal else None,
            "model": self.model.name if self.model else None,
        }
        await self._sink.intend(intent)


def _flagged(said: Said) -> LinksFlagged:
    images = sum(link.kind == "image" for link in said.foreign_links)
    return LinksFlagged(images, len(said.foreign_links) - images)


def _billed(said: Mapping[str, Any] | None) -> Billed | None:
    """The upstream's usage; None where it says nothing that can be used."""
    usage = usage_of(said)
    if usage is None:
        return None
    return Billed(usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.cache_write)


def _once(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))
