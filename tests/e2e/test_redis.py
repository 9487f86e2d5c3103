"""Redis comes and goes while requests are answered: counts are made again, it is said, and nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest
import redis

from elbowroom_proxy.tokens import DEGRADED
from tests.e2e.conftest import CLIENT_KEY, record_of
from tests.proxy import RunningProxy, config, wait_until
from tests.servers import RedisServer
from tests.upstream import WAIT, FakeUpstream

METRIC = "elbowroom_count_cache_degraded_total"


@pytest.fixture(scope="module")
def store() -> Iterator[RedisServer]:
    """A Redis of this module's own, which may be stopped."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def proxies(store: RedisServer, module_upstream: FakeUpstream, tmp_path: Path) -> Iterator[list[RunningProxy]]:
    """Two instances that share it."""
    with redis.Redis.from_url(store.url) as client:
        client.flushall()
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    text = config(module_upstream, redis_url=store.url)
    with RunningProxy(text, folders[0]) as one, RunningProxy(text, folders[1]) as two:
        yield [one, two]


class Asked:
    """One tagged request about a subject, and what was said of it."""

    def __init__(self, proxy: RunningProxy, subject: str) -> None:
        text = " ".join(f"Sentence {number} speaks of {subject} at length." for number in range(30))
        with openai.OpenAI(base_url=proxy.base_url, api_key=CLIENT_KEY, max_retries=0, timeout=WAIT) as sdk:
            raw = sdk.chat.completions.with_raw_response.create(
                model="fake",
                messages=[{"role": "user", "content": f"What of {subject}?"}],
                extra_body={"documents": [{"id": subject, "text": text}]},
            )
        self.text = raw.parse().choices[0].message.content
        self.tokens = raw.headers["x-elbowroom-prompt-tokens"]
        self.record = record_of(proxy, raw.headers["x-request-id"])
        self.degraded = DEGRADED in self.record["notes"]


def degraded(proxy: RunningProxy) -> float:
    proxy.service.metrics.render()  # whoever looks sees it as it is then
    return proxy.service.metrics.registry.get_sample_value(METRIC) or 0


def until_healthy(proxy: RunningProxy, said: str) -> None:
    """/readyz asks Redis whatever happened before, so the proxy knows at once."""
    wait_until(lambda: httpx.get(f"{proxy.url}/readyz", timeout=WAIT).json()["count_cache"] == said)


def test_what_one_instance_counted_the_other_knows(proxies: list[RunningProxy], store: RedisServer, upstream):
    one, two = proxies
    first = Asked(one, "harbours")
    with redis.Redis.from_url(store.url) as client:
        wait_until(lambda: bool(client.keys("eb:tok:1:*")))
        assert all(client.get(key).isdigit() for key in client.keys("eb:tok:1:*"))
        # Whatever else is kept there, it is ours and no text.
        for key in client.keys("*"):
            assert key.startswith(b"eb:")
            assert b"harbours" not in key + client.dump(key)
    second = Asked(two, "harbours")
    assert second.tokens == first.tokens
    assert two.service.tokens.texts_shared > 0
    assert (degraded(one), degraded(two)) == (0, 0)
    assert not first.degraded
    assert not second.degraded


def test_without_it_every_request_is_answered_with_the_same_numbers(
    proxies: list[RunningProxy], store: RedisServer, upstream
):
    one, two = proxies
    before = Asked(one, "bridges")
    until_healthy(two, "ok")
    store.stop()
    try:
        gone = [Asked(two, subject) for subject in ("bridges", "tunnels", "ferries")]
        until_healthy(two, "degraded")
    finally:
        store.start()
    assert [asked.text for asked in gone] == ["fine"] * 3
    assert gone[0].tokens == before.tokens
    assert all(asked.degraded for asked in gone)
    assert degraded(two) == 3
    assert httpx.get(f"{two.url}/readyz", timeout=WAIT).status_code == 200
    until_healthy(two, "ok")
    back = Asked(two, "canals")
    assert not back.degraded
    assert degraded(two) == 3


def test_one_that_hangs_holds_up_nobody(proxies: list[RunningProxy], store: RedisServer, upstream):
    one, _ = proxies
    until_healthy(one, "ok")
    os.kill(store.pid, signal.SIGSTOP)
    try:
        hung = [Asked(one, subject) for subject in ("glass", "stone", "wood")]
    finally:
        os.kill(store.pid, signal.SIGCONT)
    assert all(asked.text == "fine" and asked.degraded for asked in hung)
    assert sum(asked.record["timings_ms"]["overhead"] for asked in hung) < 5_000
    until_healthy(one, "ok")
    assert not Asked(one, "iron").degraded


def test_it_may_go_and_come_while_many_ask(proxies: list[RunningProxy], store: RedisServer, upstream):
    one, two = proxies
    done: list[Asked] = []

    def ask(proxy: RunningProxy, name: str) -> None:
        done.extend(Asked(proxy, f"{name}{number}") for number in range(15))

    asking = [threading.Thread(target=ask, args=each) for each in ((one, "a"), (two, "b"), (one, "c"))]
    for thread in asking:
        thread.start()
    wait_until(lambda: len(one.traces()) > 3)
    store.stop()
    wait_until(lambda: degraded(one) + degraded(two) > 0)
    store.start()
    for thread in asking:
        thread.join(WAIT)
    assert [asked.text for asked in done] == ["fine"] * 45
    assert len(one.traces()) + len(two.traces()) == 45
    noted = sum(asked.degraded for asked in done)
    assert degraded(one) + degraded(two) == noted > 0
