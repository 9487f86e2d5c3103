"""Alive is not ready; a shared store that is away keeps nobody from either."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from elbowroom_proxy.routes import health


async def ask(path: str, faults: tuple[str, ...] = (), *, shared: bool = True) -> httpx.Response:
    async def store() -> bool:
        return shared

    app = FastAPI()
    app.include_router(health.routes(lambda: faults, store))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy") as client:
        return await client.get(path)


async def test_ready_and_what_is_degraded():
    assert (await ask("/readyz")).json() == {"status": "ok", "count_cache": "ok"}
    degraded = await ask("/readyz", shared=False)
    assert (degraded.status_code, degraded.json()["count_cache"]) == (200, "degraded")


async def test_not_ready_without_vocabularies_but_alive():
    answer = await ask("/readyz", ("vocabulary o200k_base: wrong SHA-256",))
    assert answer.status_code == 503
    assert answer.json()["faults"] == ["vocabulary o200k_base: wrong SHA-256"]
    assert (await ask("/livez", ("anything",))).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_the_answer_is_json(path):
    assert (await ask(path)).headers["content-type"] == "application/json"
