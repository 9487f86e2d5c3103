"""What the policy would have made of a request in shadow: worked out once its answer has begun, in one thread.

Knows: how many requests may wait for it, and that neither an answer nor a record waits; what is asked outside this
process only where the policy says so; that what it finds is a record of its own, under the request's trace id.
Does not know: how the engine decides, when an answer begins (`flow`), or what is made of the records.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import structlog
from msgspec import Struct, structs

from elbowroom.account.trace import Aside, Facts, record
from elbowroom.clean.known import Known
from elbowroom.decision import Setting, decide
from elbowroom.needs import Answer, AsideNeed, Need, NeedCounts, NeedRerank, NeedRetrieve
from elbowroom.records import Mode, Refused, Request
from elbowroom_proxy.answering import drive_here, offline
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.ports import TraceSink

KIND = "shadow"
QUEUED, SKIPPED = "queued", "skipped"
WAITING = 64  # requests
WAITING_BYTES = 64 << 20  # of their bodies
# What a proposal has of its request; what was sent, answered and paid is the request's own.
OF_THE_REQUEST = (
    "trace_id", "time", "request_id", "client_request_id", "conversation_id", "subject", "tenant", "principal",
    "stream", "counter", "instructions", "hash_key_id", "cohort",
)  # fmt: skip
PATIENCE = 30.0  # seconds for one answer from outside

log = structlog.get_logger("elbowroom")

Ask = Callable[[AsideNeed, list[Aside]], Awaitable[Answer]]


def _nobody_waits(_: asyncio.Task[Any]) -> None:
    """Where what is asked is never closed."""


class Proposal(Struct, frozen=True):
    """A request as it was decided, but for the mode."""

    request: Request
    setting: Setting
    ask: Ask  # whom enforcing would ask
    work: Callable[[asyncio.Task[Any]], None] = _nobody_waits  # until that task ends, they are not closed


class _Job(Struct, frozen=True):
    proposal: Proposal
    facts: Facts
    loop: asyncio.AbstractEventLoop
    ended: asyncio.Event


class Shadows:
    """One process's. The thread begins with the first request in shadow."""

    def __init__(
        self,
        count: Callable[[NeedCounts], Answer],
        known: Known,
        sink: TraceSink,
        metrics: Metrics,
        *,
        free: frozenset[str] = frozenset(),
        waiting: int = WAITING,
        waiting_bytes: int = WAITING_BYTES,
    ) -> None:
        """`count` and `known` are this thread's alone. `free`: the rerankers that ask nobody outside."""
        self._here = offline(count)
        self._known = known
        self._sink = sink
        self._metrics = metrics
        self._free = free
        self._most, self._most_bytes = waiting, waiting_bytes
        self._taken, self._bytes = 0, 0  # changed under the lock
        self._closing = False
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def propose(self, proposal: Proposal, facts: Facts) -> str:
        """`QUEUED`, and the loop's next turn gives it to the thread, when what is to be sent now has been; or
        `SKIPPED`, where too many wait. `facts` are what is known of the request by now.
        """
        size = len(proposal.request.body)
        with self._lock:
            if self._taken >= self._most or (self._taken and self._bytes + size > self._most_bytes):
                self._metrics.shadows.labels(SKIPPED).inc()
                return SKIPPED
            self._taken, self._bytes = self._taken + 1, self._bytes + size
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        if proposal.setting.policy.shadow.external:
            proposal.work(loop.create_task(_waited(ended)))
        loop.call_soon(self._queue.put, _Job(proposal, facts, loop, ended))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="elbowroom-shadow", daemon=True)
            self._thread.start()
        return QUEUED

    async def close(self) -> None:
        """What waits is worked out and recorded when this returns, nobody outside being asked any more; nothing may be
        proposed afterwards.
        """
        self._closing = True
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._tell(job)
                self._metrics.shadows.labels("recorded").inc()
            except Exception as error:  # whatever broke, the request was answered, and the next one waits
                self._metrics.shadows.labels("failed").inc()
                log.error("shadow", trace_id=job.facts.trace_id, exc_info=error)
            with self._lock:
                self._taken, self._bytes = self._taken - 1, self._bytes - len(job.proposal.request.body)
            job.loop.call_soon_threadsafe(job.ended.set)

    def _tell(self, job: _Job) -> None:
        start, proposal = perf_counter(), job.proposal
        asides: list[Aside] = []
        unasked: set[str] = set()

        def answer(need: Need) -> Answer:
            if not isinstance(need, AsideNeed):
                return self._here(need)
            if isinstance(need, NeedRerank) and need.by in self._free:
                return asyncio.run(_awaited(proposal.ask(need, asides)))
            if setting.policy.shadow.external and not self._closing:
                asking = asyncio.run_coroutine_threadsafe(_awaited(proposal.ask(need, asides)), job.loop)
                return asking.result(PATIENCE)
            unasked.add(_purpose(need))
            return ()

        policy = structs.replace(proposal.setting.policy, mode=Mode.ENFORCE)
        setting = structs.replace(proposal.setting, policy=policy, known=self._known)
        outcome = drive_here(decide(proposal.request, setting), answer)
        refused = outcome if isinstance(outcome, Refused) else None
        facts = Facts(
            **{name: getattr(job.facts, name) for name in OF_THE_REQUEST},
            status=refused.status_hint if refused else None,
            error={"code": refused.code, "message": refused.message, "param": refused.param} if refused else None,
            asides=tuple(asides),
            timings_ms={"shadow": round((perf_counter() - start) * 1000, 3)},
            notes=tuple(f"not asked in shadow: {one}" for one in sorted(unasked)),
        )
        told = {**record(outcome.decision, facts), "kind": KIND}
        if not self._sink.write(told):
            self._metrics.traces_lost.inc()


async def _waited(ended: asyncio.Event) -> None:
    await ended.wait()


async def _awaited(asking: Awaitable[Answer]) -> Answer:
    return await asking


def _purpose(need: AsideNeed) -> str:
    if isinstance(need, NeedRerank):
        return "rerank"
    return "retrieve" if isinstance(need, NeedRetrieve) else "summary"
