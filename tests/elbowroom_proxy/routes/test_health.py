"""Alive is not ready; a shared store that is away keeps nobody from either."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from elbowroom_proxy.routes import health
from elbowroom_proxy.stores.ledger_memory import MemoryLedger


class Ledger(MemoryLedger):
    """One that is not well."""

    def __init__(self, faults: tuple[str, ...], *, reached: bool) -> None:
        super().__init__()
        self._faults, self._reached = faults, reached

    def faults(self) -> tuple[str, ...]:
        return self._faults

    async def healthy(self) -> bool:
        return self._reached


WELL = MemoryLedger()


async def ask(
    path: str, faults: tuple[str, ...] = (), *, shared: bool = True, ledger: MemoryLedger = WELL
) -> httpx.Response:
    async def store() -> bool:
        return shared

    app = FastAPI()
    app.include_router(health.routes(lambda: faults, store, ledger))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy") as client:
        return await client.get(path)


async def test_ready_and_what_is_degraded():
    assert (await ask("/readyz")).json() == {"status": "ok", "count_cache": "ok", "ledger": "ok"}
    degraded = await ask("/readyz", shared=False)
    assert (degraded.status_code, degraded.json()["count_cache"]) == (200, "degraded")


async def test_a_ledger_that_is_not_well_is_told_of_and_is_no_fault_of_the_instance():
    for ledger in (Ledger((), reached=False), Ledger(("emptied",), reached=True)):
        answer = await ask("/readyz", ledger=ledger)
        assert (answer.status_code, answer.json()["ledger"]) == (200, "degraded")
        assert tuple(answer.json().get("ledger_faults", ())) == ledger.faults()


async def test_not_ready_without_vocabularies_but_alive():
    answer = await ask("/readyz", ("vocabulary o200k_base: wrong SHA-256",))
    assert answer.status_code == 503
    assert answer.json()["faults"] == ["vocabulary o200k_base: wrong SHA-256"]
    assert (await ask("/livez", ("anything",))).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_the_answer_is_json(path):
    assert (await ask(path)).headers["content-type"] == "application/json"
