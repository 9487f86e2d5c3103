"""Alive is not ready. What an instance would refuse requests for keeps it from being ready; what it can do without,
does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from elbowroom_proxy.ports import Texts
from elbowroom_proxy.routes import health
from elbowroom_proxy.stores.ledger_memory import MemoryLedger


class Ledger(MemoryLedger):
    """One that may not be well."""

    def __init__(self, faults: tuple[str, ...] = (), *, reached: bool = True) -> None:
        super().__init__()
        self._faults, self._reached = faults, reached

    def faults(self) -> tuple[str, ...]:
        return self._faults

    async def healthy(self) -> bool:
        return self._reached


class Sink:
    """One that may not be well either."""

    lost = waiting = 0

    def __init__(self, *, well: bool) -> None:
        self._well = well

    def write(self, record: Mapping[str, Any], texts: Texts | None = None) -> bool:
        raise NotImplementedError

    async def intend(self, intent: Mapping[str, Any]) -> None:
        raise NotImplementedError

    async def healthy(self) -> bool:
        return self._well

    async def close(self) -> None:
        """Nothing is open."""


async def ask(
    path: str = "/readyz",
    faults: tuple[str, ...] = (),
    *,
    shared: bool = True,
    ledger: MemoryLedger | None = None,
    recording: bool = True,
    on_failure: str = "deny",
    on_trace_failure: str = "serve",
) -> httpx.Response:
    async def store() -> bool:
        return shared

    parts = health.Parts(
        faults=lambda: faults,
        shared=store,
        ledger=ledger or Ledger(),
        sink=Sink(well=recording),
        refuses_unheld=lambda: on_failure == "deny",
        refuses_unrecorded=lambda: on_trace_failure == "reject",
    )
    app = FastAPI()
    app.include_router(health.routes(parts))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy") as client:
        return await client.get(path)


async def test_ready_and_what_is_degraded():
    assert (await ask()).json() == {"status": "ok", "count_cache": "ok", "ledger": "ok", "traces": "ok"}
    degraded = await ask(shared=False)
    assert (degraded.status_code, degraded.json()["count_cache"]) == (200, "degraded")


@pytest.mark.parametrize(("on_failure", "status", "said"), [("deny", 503, "not ready"), ("allow", 200, "ok")])
async def test_without_its_ledger_it_is_ready_where_it_would_serve(on_failure: str, status: int, said: str):
    down = Ledger(("it cannot be reached",), reached=False)
    answer = await ask(ledger=down, on_failure=on_failure)
    assert (answer.status_code, answer.json()["status"], answer.json()["ledger"]) == (status, said, "degraded")
    assert answer.json()["ledger_faults"] == ["it cannot be reached"]
    assert ("on_failure is deny" in str(answer.json().get("faults"))) is (status == 503)


@pytest.mark.parametrize("on_failure", ["deny", "allow"])
async def test_a_ledger_that_answers_and_has_lost_something_is_told_of_and_serves(on_failure: str):
    answer = await ask(ledger=Ledger(("emptied",)), on_failure=on_failure)
    assert (answer.status_code, answer.json()["ledger"]) == (200, "degraded")
    assert answer.json()["ledger_faults"] == ["emptied"]


@pytest.mark.parametrize(("on_trace_failure", "status"), [("reject", 503), ("serve", 200)])
async def test_without_a_place_for_records_it_is_ready_where_it_would_serve(on_trace_failure: str, status: int):
    answer = await ask(recording=False, on_trace_failure=on_trace_failure)
    assert (answer.status_code, answer.json()["traces"]) == (status, "degraded")
    assert ("on_trace_failure is reject" in str(answer.json().get("faults"))) is (status == 503)


async def test_both_are_said_where_both_are_missing():
    answer = await ask(ledger=Ledger(reached=False), recording=False, on_trace_failure="reject")
    assert (answer.status_code, len(answer.json()["faults"])) == (503, 2)


async def test_not_ready_without_vocabularies_but_alive():
    answer = await ask("/readyz", ("vocabulary o200k_base: wrong SHA-256",))
    assert answer.status_code == 503
    assert answer.json()["faults"] == ["vocabulary o200k_base: wrong SHA-256"]
    assert (await ask("/livez", ("anything",))).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_the_answer_is_json(path):
    assert (await ask(path)).headers["content-type"] == "application/json"
