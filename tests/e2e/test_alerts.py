"""Every alert of docs/alerts.yaml made to fire: a running proxy gets into that state, and the rule reads its /metrics.

Each is silent before. How long a state must last (`for`) is Prometheus's own business.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import yaml

from elbowroom.budget.hold import Amounts, Hold
from elbowroom_proxy import app
from elbowroom_proxy.sinks.chained import Chained
from elbowroom_proxy.sinks.jsonl import JsonlSink
from elbowroom_proxy.stores.ledger_redis import RedisLedger
from elbowroom_proxy.stores.levels import prefix
from tests.holders import ORG, row, written
from tests.house.tree import ROOT
from tests.promql import Scrape, evaluate, scrape
from tests.proxy import RunningProxy, config, wait_until
from tests.servers import RedisServer
from tests.upstream import WAIT, FakeUpstream, answer_json, completion

KEY = "sk-eb-e2e-alerts-0000000000000000"
HELLO = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50}
PROMPT = 8  # tokens of it
OFTEN = 0.05  # seconds between two looks for holds that nobody ended
RULES: dict[str, str] = {
    rule["alert"]: rule["expr"]
    for group in yaml.safe_load((ROOT / "docs" / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
}


def fired(*scrapes: Scrape) -> set[str]:
    """The alerts that would fire, after a while."""
    return {name for name, expression in RULES.items() if evaluate(expression, *scrapes)}


class Watched:
    """A proxy with one limited team and a ledger in a Redis of its own, as Prometheus sees it."""

    def __init__(self, folder: Path, upstream: FakeUpstream) -> None:
        self.folder = folder
        self.upstream = upstream
        self.server = RedisServer().start()
        ledger = {"store": "redis", "url": self.server.url, "sweep": OFTEN, "hold": 3.0, "on_failure": "allow"}
        said: dict[str, Any] = dict(written(folder, row("bot", KEY), max_tokens=1_000_000, max_parallel_requests=50))
        text = config(upstream, **said, ledger=ledger, kill_file=str(folder / "kill"))
        self.proxy = RunningProxy(text, folder)

    def scrape(self) -> Scrape:
        return scrape(httpx.get(f"{self.proxy.url}/metrics", timeout=WAIT).text)

    def ask(self, billed: int = PROMPT) -> int:
        """The status of a request for whose prompt that many tokens are billed."""
        self.upstream.answers(answer_json(completion(prompt_tokens=billed)))
        headers = {"authorization": f"Bearer {KEY}"}
        return httpx.post(
            f"{self.proxy.base_url}/chat/completions", json=HELLO, headers=headers, timeout=WAIT
        ).status_code

    def orphan(self, ident: str) -> None:
        """A hold of a process that dies before anybody hears of it again."""
        directory = self.proxy.service.keys.directory
        account = self.proxy.service.keys.account(next(iter(directory.holders.values())).principal)
        assert account is not None

        async def held() -> None:
            ledger = RedisLedger(self.server.url, timeout=WAIT)
            await ledger.hold(Hold(ident, account, Amounts(1, 1, 1)), seconds=3600)
            await ledger.close()

        asyncio.run(held())

    def until(self, name: str, holds: Callable[[float], bool], **labels: str) -> None:
        """Returns as soon as that metric does."""
        wanted = frozenset({"__name__": name, **labels}.items())
        wait_until(lambda: holds(self.scrape()[wanted]))


@pytest.fixture
def watched_in(
    tmp_path: Path, fake_upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Watched]]:
    """Starts one; what is said goes to its sink."""
    opened: list[Watched] = []

    def start(**sink: Any) -> Watched:
        monkeypatch.setattr(app, "JsonlSink", partial(JsonlSink, **sink))
        opened.append(Watched(tmp_path, fake_upstream))
        opened[-1].proxy.__enter__()
        return opened[-1]

    yield start
    for one in opened:
        one.proxy.stop()
        one.server.stop()


@pytest.fixture
def watched(watched_in: Callable[..., Watched]) -> Watched:
    return watched_in()


def test_each_alert_is_provoked_by_a_test_here():
    text = Path(__file__).read_text("utf-8")
    assert [name for name in RULES if f'"{name}" in fired(' not in text] == []


def test_a_proxy_that_is_well_is_silent(watched: Watched):
    assert watched.ask() == 200
    before = watched.scrape()
    assert fired(before, before) == set()
    assert [watched.ask() for _ in range(5)] == [200] * 5
    assert fired(before, watched.scrape()) == set()


def test_a_ledger_that_is_down(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    watched.server.stop()
    watched.until("elbowroom_ledger_up", lambda up: up == 0)
    assert "ElbowroomLedgerDown" in fired(before, watched.scrape())
    watched.server.start()
    watched.until("elbowroom_ledger_up", lambda up: up == 1)
    assert "ElbowroomLedgerDown" not in fired(watched.scrape(), watched.scrape())


def test_a_ledger_that_takes_no_holds_and_answers_otherwise(watched: Watched):
    with redis.Redis.from_url(watched.server.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-@scripting")
    before = watched.scrape()
    assert [watched.ask() for _ in range(8)] == [200] * 8  # on_failure is allow
    after = {**watched.scrape(), frozenset({("__name__", "elbowroom_ledger_up")}): 1.0}
    assert "ElbowroomLedgerDown" in fired(before, after)


def test_a_ledger_that_lost_its_sums(watched: Watched):
    assert watched.ask() == 200
    before = watched.scrape()
    assert fired(before, before) == set()
    with redis.Redis.from_url(watched.server.url) as client:
        client.flushall()
    assert watched.ask() == 200
    assert "ElbowroomLedgerFault" in fired(before, watched.scrape())


def test_a_hold_past_its_end_that_cannot_be_ended(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    watched.orphan("orphan")
    with redis.Redis.from_url(watched.server.url) as client:
        client.execute_command("ACL", "SETUSER", "default", "-@scripting")  # so that it cannot be charged
        client.hset(f"{prefix(ORG)}h:orphan", "d", 1)
        client.zadd(f"{prefix(ORG)}open", {"orphan": 1})  # and its end is long past
        watched.until("elbowroom_ledger_holds_overdue", lambda holds: holds == 1)
        assert "ElbowroomHeldPastDeadline" in fired(before, watched.scrape())
        client.execute_command("ACL", "SETUSER", "default", "+@scripting")
        watched.until("elbowroom_ledger_holds_overdue", lambda holds: holds == 0)
    after = watched.scrape()
    assert "ElbowroomHeldPastDeadline" not in fired(before, after)
    assert after[frozenset({("__name__", "elbowroom_ledger_swept_total")})] == 1


def test_a_settlement_that_never_arrives(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    gate = watched.upstream.gate()
    answer = answer_json(completion(prompt_tokens=PROMPT))
    answer.before = gate
    watched.upstream.answers(answer)
    asking = threading.Thread(target=watched.ask)
    asking.start()
    assert gate.reached.wait(WAIT)
    watched.server.stop()
    gate.open()
    asking.join(WAIT)
    watched.until("elbowroom_ledger_settlements_lost_total", lambda lost: lost == 1)
    assert "ElbowroomSettlementsLost" in fired(before, watched.scrape())


def test_a_bill_above_what_was_held(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    assert watched.ask(billed=9_000) == 200
    assert "ElbowroomOverrun" in fired(before, watched.scrape())


def test_a_queue_of_records_that_is_full(watched_in: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch):
    released = threading.Event()
    monkeypatch.setattr(Chained, "flush", lambda *_, **__: released.wait(WAIT))  # a disk that hangs
    watched = watched_in(max_queue=1)
    before = watched.scrape()
    assert fired(before, before) == set()
    try:
        for _ in range(4):  # the thread has one, the queue has one
            assert watched.ask() == 200
        watched.until("elbowroom_traces_lost_total", lambda lost: lost > 0)
        assert "ElbowroomTraceQueueFull" in fired(before, watched.scrape())
    finally:
        released.set()


def test_a_disk_that_refuses_records(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    shutil.rmtree(watched.proxy.traces_folder)
    assert watched.ask() == 200
    watched.until("elbowroom_traces_unwritten_total", lambda lost: lost > 0)
    assert "ElbowroomTracesUnwritten" in fired(before, watched.scrape())


def test_bills_that_are_not_what_was_counted(watched: Watched):
    assert watched.ask() == 200  # a counter must be there to be seen to increase
    before = watched.scrape()
    for _ in range(3):
        assert watched.ask(billed=PROMPT + 1) == 200
    assert "ElbowroomCountDrift" in fired(before, watched.scrape())


def test_the_kill_switch(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    (watched.folder / "kill").touch()
    watched.until("elbowroom_killed", lambda on: on == 1)
    assert "ElbowroomKilled" in fired(before, watched.scrape())


def test_files_that_are_wrong(watched: Watched):
    before = watched.scrape()
    assert fired(before, before) == set()
    file = watched.folder / "elbowroom.yaml"
    file.write_text(json.dumps({**json.loads(file.read_text()), "no_such_key": 1}))
    watched.until("elbowroom_config_reload_good", lambda good: good == 0)
    assert "ElbowroomConfigNotInForce" in fired(before, watched.scrape())


# --- /readyz ---


@pytest.mark.parametrize(("on_failure", "status"), [("deny", 503), ("allow", 200)])
def test_an_instance_is_ready_where_it_would_serve_without_its_ledger(
    tmp_path: Path, fake_upstream: FakeUpstream, on_failure: str, status: int
):
    with RedisServer() as server:
        ledger = {"store": "redis", "url": server.url, "on_failure": on_failure}
        with RunningProxy(config(fake_upstream, ledger=ledger), tmp_path) as proxy:
            ready = partial(httpx.get, f"{proxy.url}/readyz", timeout=WAIT)
            assert (ready().status_code, ready().json()["ledger"]) == (200, "ok")
            server.stop()
            assert (ready().status_code, ready().json()["ledger"]) == (status, "degraded")
            server.start()
            wait_until(lambda: ready().status_code == 200)
            assert ready().json()["ledger"] == "ok"


@pytest.mark.parametrize(("on_trace_failure", "status"), [("reject", 503), ("serve", 200)])
def test_an_instance_is_ready_where_it_would_serve_without_a_place_for_records(
    tmp_path: Path, fake_upstream: FakeUpstream, on_trace_failure: str, status: int
):
    text = json.dumps({**json.loads(config(fake_upstream)), "traces": {"on_trace_failure": on_trace_failure}})
    with RunningProxy(text, tmp_path) as proxy:
        ready = partial(httpx.get, f"{proxy.url}/readyz", timeout=WAIT)
        assert (ready().status_code, ready().json()["traces"]) == (200, "ok")
        moved = proxy.traces_folder.rename(tmp_path / "moved")
        assert (ready().status_code, ready().json()["traces"]) == (status, "degraded")
        moved.rename(proxy.traces_folder)
        assert (ready().status_code, ready().json()["traces"]) == (200, "ok")
