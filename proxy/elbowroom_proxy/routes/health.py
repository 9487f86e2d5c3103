"""/livez: the process answers. /readyz: it can do its job.

Knows: that without its vocabularies nothing can be counted, and that without a shared store everything still can.
Does not know: what the vocabularies or the store are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from fastapi import APIRouter, Response


def routes(faults: Callable[[], Sequence[str]], shared: Callable[[], Awaitable[bool]]) -> APIRouter:
    """`faults`: what keeps this instance from being ready, in words. `shared`: whether the shared store answers."""
    router = APIRouter()

    @router.get("/livez")
    async def livez() -> Response:
        return _json({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        if found := list(faults()):
            return _json({"status": "not ready", "faults": found}, 503)
        return _json({"status": "ok", "count_cache": "ok" if await shared() else "degraded"})

    return router


def _json(value: dict[str, object], status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
