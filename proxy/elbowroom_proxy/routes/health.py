"""/livez: the process answers. /readyz: it can do its job.

Knows: that without its vocabularies nothing can be counted, that without a shared store everything still can; and that
without its ledger, or a place for its records, an instance serves or does not as the configuration has it serve
requests then: one that would refuse them is not ready.
Does not know: what the vocabularies, the store, the ledger or the records are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from fastapi import APIRouter, Response
from msgspec import Struct

from elbowroom_proxy.ports import Ledger, TraceSink

OK, DEGRADED = "ok", "degraded"


class Parts(Struct, frozen=True):
    """What an instance is made of, as far as it may not be well."""

    faults: Callable[[], Sequence[str]]  # what keeps it from being ready, whatever else is well
    shared: Callable[[], Awaitable[bool]]  # whether the shared store of counts answers
    ledger: Ledger
    sink: TraceSink
    refuses_unheld: Callable[[], bool]  # whether requests are refused while the ledger cannot say what is left
    refuses_unrecorded: Callable[[], bool]  # whether requests are refused that cannot be recorded


def routes(parts: Parts) -> APIRouter:
    """Both paths."""
    router = APIRouter()

    @router.get("/livez")
    async def livez() -> Response:
        return _json({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        if found := list(parts.faults()):
            return _json({"status": "not ready", "faults": found}, 503)
        counts, sums, kept = await asyncio.gather(parts.shared(), parts.ledger.healthy(), parts.sink.healthy())
        wrong = list(parts.ledger.faults())
        said: dict[str, object] = {
            "count_cache": OK if counts else DEGRADED,
            "ledger": OK if sums and not wrong else DEGRADED,
            "traces": OK if kept else DEGRADED,
        }
        if wrong:
            said["ledger_faults"] = wrong
        faults = []
        if not sums and parts.refuses_unheld():
            faults.append("the ledger holds nothing at the moment, and ledger.on_failure is deny")
        if not kept and parts.refuses_unrecorded():
            faults.append("no record can be kept, and traces.on_trace_failure is reject")
        if faults:
            return _json({"status": "not ready", "faults": faults, **said}, 503)
        return _json({"status": "ok", **said})

    return router


def _json(value: dict[str, object], status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
