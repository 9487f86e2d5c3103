"""/livez: the process answers. /readyz: it can do its job.

Knows: that without its vocabularies nothing can be counted, that without a shared store everything still can, and that
a ledger which cannot be reached is no fault of this instance: another one would not reach it either.
Does not know: what the vocabularies, the store or the ledger are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from fastapi import APIRouter, Response

from elbowroom_proxy.ports import Ledger


def routes(faults: Callable[[], Sequence[str]], shared: Callable[[], Awaitable[bool]], ledger: Ledger) -> APIRouter:
    """`faults`: what keeps this instance from being ready, in words. `shared`: whether the shared store answers."""
    router = APIRouter()

    @router.get("/livez")
    async def livez() -> Response:
        return _json({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        if found := list(faults()):
            return _json({"status": "not ready", "faults": found}, 503)
        counts, sums = await asyncio.gather(shared(), ledger.healthy())
        said: dict[str, object] = {"status": "ok", "count_cache": "ok" if counts else "degraded"}
        said["ledger"] = "ok" if sums and not ledger.faults() else "degraded"
        if ledger.faults():
            said["ledger_faults"] = list(ledger.faults())
        return _json(said)

    return router


def _json(value: dict[str, object], status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
