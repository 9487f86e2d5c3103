"""An old and a new version of the proxy on one Redis, as while an update is rolled out.

The new one has other scripts; in the second test it keeps its sums and counts in another layout, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from elbowroom_proxy import tokens
from elbowroom_proxy.stores import killkey, levels
from tests.command import environment
from tests.holders import row, written
from tests.promql import evaluate, scrape
from tests.proxy import config, wait_until
from tests.servers import Process, RedisServer, free_port
from tests.upstream import WAIT, FakeUpstream, answer_json, completion

KEY = "sk-eb-e2e-versions-00000000000000"
TEXT = " ".join(f"Sentence {number} is long enough to be counted once for all." for number in range(30))
BILLED = 1_002  # tokens a request
LIMIT = 3  # requests that a month has room for
# The version that comes next: each script has another text, and keys begin as the arguments say.
NEXT = """
import sys
from elbowroom_proxy import tokens
from elbowroom_proxy.stores import ledger_redis, levels, scripts

def later(name):
    return scripts.Script.of(scripts.script(name).text + b"\\n-- a later version\\n")

ledger_redis.RedisLedger.__init__.__kwdefaults__["scripts"] = later
levels.LAYOUT, tokens.LAYOUT = sys.argv[1:3]
from elbowroom_proxy.__main__ import main
sys.exit(main(sys.argv[3:]))
"""


class Version:
    """One proxy in a process of its own. `layouts`: what its keys of sums and of counts begin with."""

    def __init__(self, folder: Path, text: str, *layouts: str) -> None:
        folder.mkdir()
        (folder / "elbowroom.yaml").write_text(text)
        port = free_port()
        words = ["serve", "--port", str(port), "--config", "elbowroom.yaml"]
        program = ["-c", NEXT, *layouts] if layouts else ["-m", "elbowroom_proxy"]
        self.url = f"http://127.0.0.1:{port}"
        self.process = Process(
            [sys.executable, *program, *words], "Uvicorn running on", cwd=folder, env=environment()
        ).start()

    def ask(self) -> int:
        """The status of a request about the text."""
        body = {
            "model": "gpt-4o",
            "messages": [{"role": "user", "content": "Which sentence?"}],
            "documents": [{"id": "a", "text": TEXT}],
            "max_tokens": 10,
        }
        headers = {"authorization": f"Bearer {KEY}"}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, headers=headers, timeout=WAIT).status_code

    def shows(self, expression: str) -> list[float]:
        """What its metrics say."""
        found = evaluate(expression, scrape(httpx.get(f"{self.url}/metrics", timeout=WAIT).text))
        assert isinstance(found, dict)
        return list(found.values())


class Both:
    """The two, and what they share."""

    def __init__(self, folder: Path, upstream: FakeUpstream, server: RedisServer) -> None:
        upstream.answers(*(answer_json(completion(prompt_tokens=BILLED - 2)) for _ in range(20)))
        self._folder = folder
        self.server = server
        said: dict[str, Any] = dict(written(folder, row("bot", KEY), max_tokens=LIMIT * BILLED, budget_duration="1mo"))
        ledger = {"store": "redis", "url": server.url, "timeout": 5}
        self._text = config(upstream, redis_url=server.url, ledger=ledger, **said)
        self.old = Version(folder / "old", self._text)
        self.new: Version | None = None

    def update(self, *layouts: str) -> Version:
        """The next version starts beside it."""
        self.new = Version(self._folder / "new", self._text, *layouts)
        return self.new

    def kept(self, layout: str) -> dict[bytes, Any]:
        """What is under its keys, byte for byte."""
        with redis.Redis.from_url(self.server.url) as client:
            return {key: client.dump(key) for key in client.keys(f"{layout}:*")}

    def close(self) -> None:
        for one in (self.old, self.new):
            if one is not None:
                one.process.stop()


@pytest.fixture
def both(tmp_path: Path, fake_upstream: FakeUpstream) -> Iterator[Both]:
    with RedisServer() as server:
        made = Both(tmp_path, fake_upstream, server)
        try:
            yield made
        finally:
            made.close()


def test_versions_that_keep_the_same_share_sums_and_counts(both: Both):
    assert [both.old.ask(), both.old.ask()] == [200, 200]
    wait_until(lambda: bool(both.kept(tokens.LAYOUT)))
    new = both.update(levels.LAYOUT, tokens.LAYOUT)
    # Three a month, whichever serves them.
    assert [new.ask(), new.ask(), both.old.ask()] == [200, 429, 429]
    assert new.shows('elbowroom_texts_total{found="shared"}') != [0]
    # Each runs its own scripts: nobody's were replaced.
    with redis.Redis.from_url(both.server.url) as client:
        assert client.info("memory")["number_of_cached_scripts"] >= 4
    for one in (both.old, new):
        assert one.shows("elbowroom_ledger_up") == [1]
        assert one.shows("elbowroom_ledger_faults") == [0]


def test_a_version_that_keeps_them_otherwise_begins_anew_and_disturbs_nobody(both: Both):
    assert [both.old.ask() for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    wait_until(lambda: bool(both.kept(tokens.LAYOUT)))
    sums, counts = both.kept(levels.LAYOUT), both.kept(tokens.LAYOUT)
    assert sums
    new = both.update("eb:ldg:next", "eb:tok:next")
    assert [new.ask() for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    wait_until(lambda: bool(both.kept("eb:tok:next")))
    # What the old one keeps is as it was, and the other way round.
    assert (both.kept(levels.LAYOUT), both.kept(tokens.LAYOUT)) == (sums, counts)
    theirs = both.kept("eb:ldg:next")
    assert theirs
    assert both.old.ask() == 429
    assert both.kept("eb:ldg:next") == theirs
    assert new.shows('elbowroom_texts_total{found="shared"}') == [0]
    for one in (both.old, new):
        assert one.shows("elbowroom_ledger_faults") == [0]
        assert one.shows("elbowroom_ledger_swept_total") == [0]


def test_one_switch_kills_every_version(both: Both):
    new = both.update("eb:ldg:next", "eb:tok:next")
    with redis.Redis.from_url(both.server.url) as client:
        client.set(killkey.KEY, "on")
    for one in (both.old, new):
        wait_until(lambda one=one: one.shows("elbowroom_killed") == [1])  # type: ignore[misc]
