"""Auditors over the wire: what was recorded is found within moments by whoever may see it, and so is who read it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import httpx
import pytest

from tests import holders
from tests.proxy import Run, RunningProxy, config, wait_until
from tests.upstream import WAIT, FakeUpstream

KEYS = {name: f"sk-eb-{name}-0123456789abcdef" for name in ("bot", "other", "auditor", "acme", "admin")}
CANARY = "canary-text-that-nobody-reads"


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {KEYS[name]}"}


@pytest.fixture
def proxy(running_proxy: Run, fake_upstream: FakeUpstream, tmp_path) -> RunningProxy:
    rows = [
        holders.row("bot", KEYS["bot"], tenant="acme", clearance="internal"),
        holders.row("other", KEYS["other"], tenant="globex", clearance="internal"),
        holders.row("acme", KEYS["acme"], tenant="acme", clearance="internal", role="auditor"),
        {**holders.row("auditor", KEYS["auditor"], role="auditor"), "org": None, "team": None},
        {**holders.row("admin", KEYS["admin"], role="admin"), "org": None, "team": None},
    ]
    value = json.loads(config(fake_upstream))
    value["general_settings"] |= holders.written(tmp_path, *rows)
    return running_proxy(json.dumps(value))


def ask(proxy: RunningProxy, who: str) -> str:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": CANARY}]}
    answer = httpx.post(f"{proxy.url}/v1/chat/completions", json=body, headers=key(who), timeout=WAIT)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-elbowroom-trace-id"]


def rows(proxy: RunningProxy, who: str, query: str = "") -> list[str]:
    answer = httpx.get(f"{proxy.url}/admin/traces{query}", headers=key(who), timeout=WAIT)
    assert answer.status_code == 200, answer.text
    assert CANARY not in answer.text
    assert not any(secret in answer.text for secret in KEYS.values())
    return [one["trace_id"] for one in answer.json()["rows"]]


def test_each_sees_its_own_soon_after_it_happened(proxy):
    ours, theirs = ask(proxy, "bot"), ask(proxy, "other")
    wait_until(lambda: rows(proxy, "auditor") == [theirs, ours])
    assert rows(proxy, "admin") == [theirs, ours]
    assert rows(proxy, "acme") == [ours]
    assert rows(proxy, "acme", "?tenant=globex") == []
    for who, status in (("acme", 404), ("auditor", 200), ("bot", 403)):
        assert httpx.get(f"{proxy.url}/admin/traces/{theirs}", headers=key(who)).status_code == status
    assert httpx.get(f"{proxy.url}/admin/traces/{ours}").status_code == 401
    overview = httpx.get(f"{proxy.url}/admin/overview", headers=key("auditor")).json()
    assert (overview["requests"], overview["indexed"]["records"]) == (2, 2)


def test_who_read_what_is_in_the_chain_and_the_index(proxy):
    ours = ask(proxy, "bot")
    wait_until(lambda: rows(proxy, "acme") == [ours])
    httpx.get(f"{proxy.url}/admin/traces/{ours}", headers=key("acme"))
    wait_until(lambda: rows(proxy, "auditor", "?kind=read&subject=acme") != [])
    proxy.stop()
    kept = [one for one in proxy.traces() if one.get("kind") == "read" and one["read"]["action"] == "show"]
    assert [(one["tenant"], one["read"]["id"], one["read"]["found"]) for one in kept] == [("acme", ours, 1)]
    assert all("chain" in one for one in kept)


def test_while_a_disk_takes_no_records_nobody_reads_any(proxy, monkeypatch):
    """A reading that waits for a full disk would be answered, and lost."""
    ours = ask(proxy, "bot")
    wait_until(lambda: rows(proxy, "acme") == [ours])
    takes = {"takes": False}
    monkeypatch.setattr(proxy.service.sink, "_takes", lambda: takes["takes"])
    for page in ("traces", f"traces/{ours}", "overview", "budgets"):
        answer = httpx.get(f"{proxy.url}/admin/{page}", headers=key("acme"), timeout=WAIT)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "trace_unavailable"), page
    takes["takes"] = True
    assert rows(proxy, "acme") == [ours]


def test_the_index_holds_no_text_and_can_go_at_any_time(proxy):
    ours = ask(proxy, "bot")
    wait_until(lambda: rows(proxy, "auditor") == [ours])
    proxy.stop()
    file = proxy.traces_folder / "index.sqlite"
    with closing(sqlite3.connect(file)) as db:
        assert CANARY not in "\n".join(db.iterdump())
    file.unlink()
    with RunningProxy(json.dumps(_same(proxy)), proxy.traces_folder.parent) as again:
        wait_until(lambda: ours in rows(again, "auditor"))


def _same(proxy: RunningProxy) -> dict:
    return json.loads((proxy.traces_folder.parent / "elbowroom.yaml").read_text())
