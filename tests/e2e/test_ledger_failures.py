"""What clients meet while the ledger's Redis is stopped, frozen, full, emptied or allows no scripts: over HTTP, on a
real server. And what a hold comes to whose period is over, or which was swept meanwhile.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from elbowroom_proxy.stores import ledger_redis
from tests.command import elbowroom
from tests.emitting import AROUND, MAXIMUM, Emitting, model, request
from tests.fleet import ledger_keys, read_sums
from tests.holders import row, written
from tests.ledgers import Clock, timed
from tests.proxy import SECRET, RunningProxy, wait_until
from tests.servers import RedisServer
from tests.upstream import WAIT

KEY = "sk-eb-e2e-failing-000000000000000"
TOKENS = AROUND + 1 + MAXIMUM  # of a request
TIMEOUT = 0.5  # seconds that the ledger is given for an answer
PATIENT = 10 * TIMEOUT  # seconds in which a client is told, on a machine that is busy otherwise
NOTHING = {"t": 0, "ht": 0, "m": 0, "hm": 0, "o": 0}


class House:
    """A proxy whose one team is limited, its ledger in `server`."""

    def __init__(
        self,
        upstream: Emitting,
        server: RedisServer,
        folder: Path,
        clock: Callable[[], float] = time.time,
        **ledger: Any,
    ) -> None:
        self.upstream, self.server, self.folder = upstream, server, folder
        said = written(folder, row("bot", KEY), max_tokens=10 * TOKENS, budget_duration="1h")
        row_of_ledger = {"store": "redis", "url": server.url, "timeout": TIMEOUT, **ledger}
        general = {"secret": SECRET, "traces": str(folder / "traces"), "ledger": row_of_ledger, **said}
        text = json.dumps({"model_list": [model(upstream.url)], "general_settings": general})
        self.proxy = RunningProxy(text, folder, clock)

    def post(self, user: str = "whole/0.0/x", **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {KEY}"}
        url = f"{self.proxy.base_url}/chat/completions"
        return httpx.post(url, content=request(user, **more), headers=headers, timeout=WAIT)

    @contextmanager
    def posting(self, user: str, **more: Any) -> Iterator[list[httpx.Response]]:
        """A request that waits at the upstream until the end of the block; its answer is in the list then."""
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(self.post(user, **more)))
        thread.start()
        wait_until(lambda: user in self.upstream.seen)
        try:
            yield answers
        finally:
            self.upstream.held.open()
            thread.join(WAIT)

    def sums(self) -> dict[str, int]:
        """The team's."""
        with self.asked() as client:
            return read_sums(client, ledger_keys(client)).get("acme/t:acme/support", NOTHING)

    def settles_at(self, tokens: int) -> None:
        """Returns when so much is spent, and nothing held."""
        wait_until(lambda: {**self.sums(), "m": 0} == {**NOTHING, "t": tokens})

    @contextmanager
    def asked(self) -> Iterator[redis.Redis]:
        with redis.Redis.from_url(self.server.url, decode_responses=True) as client:
            yield client

    def ready(self) -> tuple[int, dict[str, Any]]:
        answer = httpx.get(f"{self.proxy.url}/readyz", timeout=WAIT)
        return answer.status_code, answer.json()

    def fails_as_chosen(self, on_failure: str) -> int:
        """Whole and streamed, and the tokens that were served all the same. Nobody waits for the server's return."""
        served = self.upstream.served["x"]
        for stream in (False, True):
            answer = self.post(stream=stream)
            assert answer.elapsed.total_seconds() < PATIENT
            if on_failure == "deny":
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "ledger_unavailable")
                assert answer.headers["retry-after"] == "1"
            else:
                assert answer.status_code == 200
        return self.upstream.served["x"] - served

    def holds_again(self) -> None:
        """Returns when requests are held for again: then one that the upstream refuses is recorded with its hold."""

        def held() -> bool:
            answer = self.post("refused/0.0/x")
            ident = answer.headers["x-request-id"]
            wait_until(lambda: any(one["request_id"] == ident for one in self.records()))
            (record,) = [one for one in self.records() if one["request_id"] == ident]
            return answer.status_code == 400 and bool(record["hold"]["state"] == "granted")

        wait_until(held)

    def records(self) -> list[dict[str, Any]]:
        return self.proxy.traces()


MakeHouse = Callable[..., House]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def house_of(server: RedisServer, tmp_path: Path) -> Iterator[MakeHouse]:
    """Builds a house, and closes it."""
    houses: list[House] = []
    with Emitting() as upstream:

        def make(**more: Any) -> House:
            houses.append(House(upstream, server, tmp_path, **more))
            houses[-1].proxy.__enter__()
            return houses[-1]

        yield make
        for house in houses:
            house.proxy.stop()


@pytest.fixture(params=["deny", "allow"])
def on_failure(request: pytest.FixtureRequest) -> str:
    word: str = request.param
    return word


def test_stopped_and_started_again(house_of: MakeHouse, on_failure: str):
    house = house_of(on_failure=on_failure)
    assert house.post().status_code == 200
    house.server.stop()
    open_ones = house.fails_as_chosen(on_failure)
    status, said = house.ready()
    assert (status, said["ledger"]) == (503 if on_failure == "deny" else 200, "degraded")
    house.server.start()
    house.holds_again()
    # What had been spent before is gone with the server, which kept no file; what was let pass meanwhile is charged.
    house.settles_at(open_ones)
    assert house.ready()[1]["ledger_faults"] == [
        "the sums of acme were lost; `elbowroom budgets rebuild` restores them"
    ]


def test_frozen(house_of: MakeHouse, on_failure: str):
    house = house_of(on_failure=on_failure)
    assert house.post().status_code == 200
    os.kill(house.server.pid, signal.SIGSTOP)
    try:
        open_ones = house.fails_as_chosen(on_failure)
        assert house.ready()[0] == (503 if on_failure == "deny" else 200)
    finally:
        os.kill(house.server.pid, signal.SIGCONT)
    house.holds_again()
    house.settles_at(TOKENS + open_ones)  # the holds that lay in its buffer hold nothing
    assert house.ready() == (200, {"status": "ok", "count_cache": "ok", "ledger": "ok", "traces": "ok"})


def test_frozen_while_answers_run(house_of: MakeHouse):
    house = house_of()
    with house.posting("held/0.0/x") as answers:
        os.kill(house.server.pid, signal.SIGSTOP)
        try:
            house.upstream.held.open()
            wait_until(lambda: bool(answers))  # its end does not wait for the server
        finally:
            os.kill(house.server.pid, signal.SIGCONT)
    assert answers[0].status_code == 200
    house.settles_at(TOKENS)


def test_out_of_memory(house_of: MakeHouse, on_failure: str):
    house = house_of(on_failure=on_failure)
    with house.posting("held/0.0/x") as answers:
        with house.asked() as client:
            client.config_set("maxmemory", 1)
        open_ones = house.fails_as_chosen(on_failure)
        assert house.ready()[1]["ledger"] == "degraded"
    assert answers[0].status_code == 200
    house.settles_at(TOKENS + open_ones)  # without any memory
    with house.asked() as client:
        client.config_set("maxmemory", 0)
    house.holds_again()
    assert house.ready()[1]["ledger"] == "ok"


def test_without_scripts(house_of: MakeHouse, on_failure: str):
    house = house_of(on_failure=on_failure)
    with house.posting("held/0.0/x") as answers:
        with house.asked() as client:
            client.acl_setuser("default", enabled=True, commands=["-eval", "-evalsha"], keys=["*"], nopass=True)
        open_ones = house.fails_as_chosen(on_failure)
        status, said = house.ready()
        assert (status, said["ledger"]) == (503 if on_failure == "deny" else 200, "degraded")
        assert "NoPermissionError" in str(said["ledger_faults"])
        refuses = ["the ledger holds nothing at the moment, and ledger.on_failure is deny"]
        assert said.get("faults", refuses) == refuses
    assert answers[0].status_code == 200
    assert house.sums()["ht"] == TOKENS
    with house.asked() as client:
        client.acl_setuser("default", enabled=True, commands=["+eval", "+evalsha"], keys=["*"], nopass=True)
    house.holds_again()
    house.settles_at(TOKENS + open_ones)


def test_emptied_and_rebuilt_from_the_records(house_of: MakeHouse):
    house = house_of()
    for _ in range(2):
        assert house.post().status_code == 200
    house.settles_at(2 * TOKENS)
    with house.asked() as client:
        client.flushall()
    assert house.post().status_code == 200  # from 0
    lost = ["the sums of acme were lost; `elbowroom budgets rebuild` restores them"]
    assert house.ready() == (200, {"status": "ok", "count_cache": "ok", "ledger": "degraded", "traces": "ok",
                                   "ledger_faults": lost})  # fmt: skip
    wait_until(lambda: len(house.records()) == 3)
    done = elbowroom("budgets", "rebuild", "--config", house.folder / "elbowroom.yaml", cwd=house.folder)
    assert done.returncode == 0, done.stderr
    house.settles_at(3 * TOKENS)
    assert house.post().status_code == 200
    assert house.ready()[1]["ledger"] == "ok"
    house.settles_at(4 * TOKENS)


# --- holds that outlast something -------------------------------------------------------------------------------------


@pytest.fixture
def clock(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the proxy and the server's scripts take for the time."""

    def heard(now: float) -> None:
        with redis.Redis.from_url(server.url) as client:
            client.hset("clock", mapping={"s": int(now), "u": round(now % 1 * 1e6)})

    def build(row: Any, clock: Callable[[], float]) -> ledger_redis.RedisLedger:
        return ledger_redis.RedisLedger(row.url, timeout=row.timeout, clock=clock, scripts=timed)

    monkeypatch.setattr(ledger_redis, "build", build)
    return Clock(heard=heard)


def spent_by_period(house: House) -> list[tuple[int, int]]:
    """The team's spent and held tokens, in the order of the periods."""
    with house.asked() as client:
        keys = sorted(key for key in ledger_keys(client) if ":s:t:" in key)
        return [tuple(int(one or 0) for one in client.hmget(key, "t", "ht")) for key in keys]  # type: ignore[misc]


@pytest.mark.parametrize("stream", [False, True])
def test_a_period_that_ends_while_an_answer_runs(house_of: MakeHouse, clock: Clock, stream: bool):
    clock.move(3599)
    house = house_of(clock=clock)
    with house.posting("held/0.0/x", stream=stream) as answers:
        assert spent_by_period(house) == [(0, TOKENS)]
        clock.move(2)
        assert house.post().status_code == 200
        assert spent_by_period(house) == [(0, TOKENS), (TOKENS, 0)]
    assert answers[0].status_code == 200
    assert spent_by_period(house) == [(TOKENS, 0), (TOKENS, 0)]  # each in its own
    wait_until(lambda: len(house.records()) == 2)
    assert [one["settlement"]["state"] for one in house.records()] == ["settled"] * 2


def test_a_settlement_after_its_sweep_replaces_what_the_sweep_charged(house_of: MakeHouse, clock: Clock):
    house = house_of(clock=clock, sweep=0.05)
    with house.posting("held/0.0/x", max_tokens=30) as answers:
        assert spent_by_period(house) == [(0, AROUND + 1 + 30)]
        clock.move(61)
        wait_until(lambda: spent_by_period(house) == [(AROUND + 1 + 30, 0)])
        with house.asked() as client:
            (key,) = [one for one in ledger_keys(client) if ":s:t:" in one]
            assert client.hget(key, "ut") == str(AROUND + 1 + 30)  # charged for want of news, and said to be so
    assert answers[0].status_code == 200
    with house.asked() as client:
        assert client.hget(key, "ut") == "0"
    assert spent_by_period(house) == [(AROUND + 1 + 30, 0)]
    wait_until(lambda: len(house.records()) == 1)
    assert house.records()[0]["settlement"]["state"] == "late"
