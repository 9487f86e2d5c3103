"""`elbowroom budgets rebuild`: an emptied Redis has its sums again, once, and no sum becomes smaller unless it may."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import redis

from elbowroom.account.trace import Aside
from elbowroom.budget.hold import Amounts, Hold
from elbowroom_proxy import settings
from elbowroom_proxy.stores.ledger_redis import RedisLedger
from tests.command import Done, Here
from tests.holders import row, written
from tests.proxy import Run, RunningProxy, config, wait_until
from tests.records import put
from tests.upstream import FakeUpstream

USER = "sk-eb-user"
FAILED = Aside("rerank", "http", failed="it did not answer in time")


class Site:
    """A proxy with budgets in a Redis, and the command beside it."""

    def __init__(self, proxy: RunningProxy, here: Here, url: str, folder: Path) -> None:
        self.proxy, self._here, self.url, self.folder = proxy, here, url, folder

    def ask(self, times: int = 1) -> int:
        """So many requests; the tokens that they were billed."""
        body = {"model": "fake", "messages": [{"role": "user", "content": "hi"}]}
        before = len(self.proxy.traces())
        tokens = 0
        for _ in range(times):
            answer = httpx.post(
                f"{self.proxy.base_url}/chat/completions",
                json=body,
                headers={"authorization": f"Bearer {USER}"},
                timeout=30,
            )
            assert answer.status_code == 200
            tokens += answer.json()["usage"]["total_tokens"]
        wait_until(lambda: len(self.proxy.traces()) == before + times)
        return tokens

    def empty(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def rebuild(self, *words: str) -> Done:
        return self._here("budgets", "rebuild", "--config", "elbowroom.yaml", *words)

    def spent(self) -> list[int]:
        """Tokens, of organisation, team and key."""
        shown = self._here("budgets", "show", "--json", "--config", "elbowroom.yaml")
        (org,) = json.loads(shown.stdout)["orgs"]
        (team,) = org["teams"]
        return [one["spent"]["tokens"] for one in (org["level"], team["level"], *team["keys"])]


@pytest.fixture
def site(running_proxy: Run, fake_upstream: FakeUpstream, here: Here, tmp_path: Path, redis_url: str) -> Site:
    files = written(tmp_path, row("bot", USER), max_tokens=1_000_000, budget_duration="1d")
    ledger = {"store": "redis", "url": redis_url}
    traces = str(tmp_path / "traces")
    text = config(fake_upstream, orgs=files["orgs"], keys=files["keys"], ledger=ledger, traces=traces)
    (tmp_path / "elbowroom.yaml").write_text(text)
    return Site(running_proxy(text), here, redis_url, tmp_path)


def test_an_emptied_ledger_has_its_sums_again_and_once(site: Site):
    tokens = site.ask(3)
    site.empty()
    more = site.ask()
    assert site.spent() == [more] * 3
    done = site.rebuild()
    assert done.returncode == 0
    assert f"team acme/support, a day: {more:,} tokens and" in done.stdout
    assert f"becomes {tokens + more:,} tokens and" in done.stdout
    assert "From 4 charged requests; " in done.stdout
    assert done.stdout.endswith("3 of 3 levels were changed.\n")
    assert site.spent() == [tokens + more] * 3
    again = site.rebuild()
    assert again.stdout.endswith("0 of 3 levels were changed.\n")
    assert site.spent() == [tokens + more] * 3
    # And what comes then is added.
    assert site.spent()[0] + site.ask() == site.spent()[0]
    kinds = [(one["read"]["action"], one["read"]["found"]) for one in site.proxy.traces() if one.get("kind") == "read"]
    assert ("rebuild", 3) in kinds
    assert ("export", 4) in kinds


def test_the_proxy_stops_to_complain_once_its_sums_are_restored(site: Site):
    def degraded() -> bool:
        return "ledger_faults" in httpx.get(f"{site.proxy.url}/readyz").json()

    site.ask()
    site.empty()
    site.ask()
    assert degraded()
    site.rebuild()
    site.ask()
    assert not degraded()


def test_sums_are_not_lowered_unless_that_is_said(site: Site):
    tokens = site.ask()
    account = settings.load(site.folder / "elbowroom.yaml").directory.units["bot"].account

    async def spend() -> None:
        ledger = RedisLedger(site.url)
        await ledger.hold(Hold("of no record", account, Amounts(50)), seconds=60)
        await ledger.settle("of no record", account, Amounts(50))
        await ledger.close()

    asyncio.run(spend())
    kept = site.rebuild()
    assert "spent, as it is (the records say less)" in kept.stdout
    assert site.spent() == [tokens + 50] * 3
    planned = site.rebuild("--lower", "--dry-run")
    assert f"becomes {tokens:,} tokens" in planned.stdout
    assert planned.stdout.endswith("Nothing was changed.\n")
    assert site.spent() == [tokens + 50] * 3
    assert site.rebuild("--lower", "--org", "acme").stdout.endswith("3 of 3 levels were changed.\n")
    assert site.spent() == [tokens] * 3


def test_what_no_record_can_say_is_said(site: Site):
    site.ask()
    (whole,) = [one for one in site.proxy.traces() if one.get("kind", "request") == "request"]
    site.proxy.stop()
    value = json.loads((site.folder / "elbowroom.yaml").read_text())
    value["traces"] = {"sample": 0.5}
    (site.folder / "elbowroom.yaml").write_text(json.dumps(value))
    odd = {**whole, "trace_id": "odd", "settlement": {"by": 5}}
    failed: dict[str, Any] = {**whole, "trace_id": "failed", "asides": [msgspec.to_builtins(FAILED)]}
    put(site.folder / "copy", whole, odd, failed)
    done = site.rebuild("--folder", str(site.folder / "copy"), "--dry-run")
    assert "traces.sample is 0.5: " in done.stdout
    assert "Calls beside answers that failed: 1; " in done.stdout
    assert "Records of a shape that is not known: 1." in done.stdout
    assert "The oldest is of 20" in done.stdout
    assert "Not in any record: requests whose process died" in done.stdout
    assert "From 2 charged requests" in done.stdout


def test_nothing_to_restore_is_said(site: Site, here: Here):
    done = site.rebuild("--org", "none")
    assert (done.returncode, done.stderr) == (1, "There is no such organisation.\n")
    site.proxy.stop()  # it would say, in this process, that its files are gone
    (site.folder / "orgs.yaml").write_text("orgs: []")
    (site.folder / "keys.yaml").unlink()
    assert site.rebuild().stderr == "There are no organisations.\n"
