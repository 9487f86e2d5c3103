"""GET /admin/budgets over a real socket and a real Redis: who is told, what, and that it is recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from elbowroom.errors import LedgerUnavailable
from elbowroom.records import Principal
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.routes import budgets
from elbowroom_proxy.stores.ledger_memory import MemoryLedger
from elbowroom_proxy.tally import Tally
from tests.holders import row, written
from tests.proxy import Run, config
from tests.upstream import FakeUpstream

AT = "/admin/budgets"
USER, AUDITOR, ADMIN = "sk-eb-user", "sk-eb-audit", "sk-eb-admin"


def key(word: str) -> dict[str, str]:
    return {"authorization": f"Bearer {word}"}


def text(upstream: FakeUpstream, folder: Path, redis_url: str) -> str:
    reads = {"org": None, "team": None}
    rows = [row("bot", USER), row("aud", AUDITOR, role="auditor", **reads), row("adm", ADMIN, role="admin", **reads)]
    files = written(folder, *rows, max_tokens=100_000, budget_duration="1d")
    return config(upstream, orgs=files["orgs"], keys=files["keys"], ledger={"store": "redis", "url": redis_url})


def ask(url: str, word: str, **more: Any) -> httpx.Response:
    return httpx.get(f"{url}{AT}", headers=key(word), timeout=30, **more)


def test_what_a_request_came_to_is_told_and_the_reading_recorded(
    running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path, redis_url: str
):
    proxy = running_proxy(text(fake_upstream, tmp_path, redis_url))
    body = {"model": "fake", "messages": [{"role": "user", "content": "hi"}]}
    answer = httpx.post(f"{proxy.base_url}/chat/completions", json=body, headers=key(USER), timeout=30)
    usage = answer.json()["usage"]
    assert answer.status_code == 200
    told = ask(proxy.url, ADMIN)
    assert (told.headers["cache-control"], told.headers["content-type"]) == ("no-store", "application/json")
    (org,) = told.json()["orgs"]
    (team,) = org["teams"]
    (limit,) = team["level"]["limits"]
    assert (limit["limit"], limit["spent"], limit["held"]) == ("max_tokens", usage["total_tokens"], 0)
    assert limit["remaining"] == 100_000 - usage["total_tokens"]
    assert [one["name"] for one in org["top_keys"]] == ["acme/support/bot"]
    assert told.json()["store"] == "redis"
    record = proxy.trace(1)
    assert (record["kind"], record["subject"], record["read"]["action"]) == ("read", "adm", "budgets")


def test_who_may_not_read_is_told_so(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path, redis_url: str):
    proxy = running_proxy(text(fake_upstream, tmp_path, redis_url))
    for word, status, code in ((USER, 403, "role_not_allowed"), ("sk-eb-none", 401, "invalid_api_key")):
        answer = ask(proxy.url, word)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert ask(proxy.url, AUDITOR).status_code == 200
    answer = ask(proxy.url, AUDITOR, params={"colour": "red"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "colour")
    assert ask(proxy.url, AUDITOR, params={"org": "globex"}).json()["orgs"] == []
    assert ask(proxy.url, AUDITOR, params={"org": "acme", "team": ""}).json()["orgs"][0]["teams"] != []


def test_without_keys_this_machine_alone_is_answered(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path: Path):
    proxy = running_proxy(config(fake_upstream))
    assert httpx.get(f"{proxy.url}{AT}").json()["orgs"] == []
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
        answer = httpx.get(f"{proxy.url}{AT}", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")


async def test_a_ledger_that_cannot_be_asked_is_a_503(monkeypatch: pytest.MonkeyPatch):
    async def admin(_: object) -> Principal:
        return Principal("adm", role="admin", keyed=True)

    class Down(Tally):
        async def budgets(self, *_: object, **__: object) -> Any:
            raise LedgerUnavailable("The ledger did not answer in time.")

    app = FastAPI()
    app.include_router(budgets.routes(Down(MemoryLedger(), Directory, lambda _: True, store="memory"), admin))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        answer = await client.get(AT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "ledger_unavailable")
