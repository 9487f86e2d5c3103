"""Keys on the running product: made, replaced and blocked while it serves, and never anywhere but with their holder."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.command import elbowroom
from tests.holders import orgs_text
from tests.proxy import config, wait_until
from tests.servers import Elbowroom
from tests.upstream import WAIT

HELLO = {"model": "demo-small", "messages": [{"role": "user", "content": "hello"}]}
TEAM = ("--org", "acme", "--team", "support")


class House:
    """A served configuration, and the keys that its operator makes."""

    def __init__(self, folder: Path, **team: Any) -> None:
        (folder / "orgs.yaml").write_text(orgs_text(**team))
        (folder / "elbowroom.yaml").write_text(config("http://127.0.0.1:1/v1", traces=str(folder / "traces")))
        self.folder = folder
        self.given: list[str] = []

    def keys(self, *words: str) -> str:
        done = elbowroom("keys", *words, "--config", "elbowroom.yaml", cwd=self.folder)
        assert done.returncode == 0, done.stderr
        said = done.stdout.decode().strip()
        if words[0] in ("new", "rotate"):
            self.given.append(said)
        return said

    def serve(self) -> Elbowroom:
        return Elbowroom(self.folder, "--config", str(self.folder / "elbowroom.yaml"))


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=WAIT) as client:
        yield client


Status = Callable[[Elbowroom, str | None], int]


@pytest.fixture
def status(http: httpx.Client) -> Status:
    """What whoever has that key is answered with."""
    return lambda served, key: chat(http, served, None if key is None else f"Bearer {key}").status_code


def chat(http: httpx.Client, served: Elbowroom, authorization: str | bytes | None, **more: Any) -> httpx.Response:
    headers: Any = {} if authorization is None else {"authorization": authorization}
    return http.post(f"{served.base_url}/chat/completions", json={**HELLO, **more}, headers=headers)


def test_keys_that_are_made_replaced_and_blocked_hold_while_it_serves(tmp_path: Path, status: Status):
    house = House(tmp_path)
    with house.serve() as served:
        assert any("open: no keys are configured" in line for line in served.output)
        assert status(served, None) == 200
        first = house.keys("new", *TEAM, "--name", "bot")
        wait_until(lambda: status(served, None) == 401)
        assert status(served, first) == 200
        second = house.keys("rotate", "bot", "--grace", "600")
        wait_until(lambda: status(served, second) == 200)
        assert status(served, first) == 200
        third = house.keys("rotate", "bot", "--grace", "0")
        wait_until(lambda: status(served, third) == 200)
        assert status(served, first) == status(served, second) == 401
        house.keys("block", "bot")
        wait_until(lambda: status(served, third) == 401)
        (tmp_path / "keys.yaml").unlink()
        wait_until(lambda: any("the file is gone" in line for line in served.output))
        assert status(served, None) == 401
        assert served.stop() in (0, -signal.SIGTERM)


def test_what_a_team_may_changes_while_it_serves(tmp_path: Path, status: Status):
    house = House(tmp_path)
    key = house.keys("new", *TEAM, "--name", "bot")
    with house.serve() as served:
        assert status(served, key) == 200
        (tmp_path / "orgs.yaml").write_text(orgs_text(models=["demo-large"]))
        wait_until(lambda: status(served, key) == 403)
        # Where its team is gone, the file of keys would not hold, and what was in force stays there.
        (tmp_path / "orgs.yaml").write_text("orgs: []")
        wait_until(lambda: any("there is no team acme/support" in line for line in served.output))
        assert status(served, key) == 403
        house.keys("block", "bot")
        wait_until(lambda: status(served, key) == 401)


def test_keys_that_are_all_blocked_leave_it_closed(tmp_path: Path, status: Status):
    house = House(tmp_path)
    house.keys("new", *TEAM, "--name", "bot")
    house.keys("block", "bot")
    with house.serve() as served:
        assert not any("open:" in line for line in served.output)
        assert status(served, None) == status(served, house.given[0]) == 401


def test_who_only_reads_asks_no_model(tmp_path: Path, status: Status, http: httpx.Client):
    house = House(tmp_path)
    reader = house.keys("new", "--role", "auditor")
    both = house.keys("new", "--role", "auditor", *TEAM, "--models", "demo-small")
    with house.serve() as served:
        answer = chat(http, served, f"Bearer {reader}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "model_not_allowed")
        assert status(served, both) == 200
        for key, models in ((reader, []), (both, ["demo-small"])):
            listed = http.get(f"{served.base_url}/models", headers={"authorization": f"Bearer {key}"})
            assert [one["id"] for one in listed.json()["data"]] == models


def test_a_key_is_nowhere_but_with_its_holder(tmp_path: Path, http: httpx.Client):
    house = House(tmp_path, rpm_limit=100_000)
    key = house.keys("new", *TEAM, "--name", "bot")
    gone = house.keys("new", *TEAM, "--name", "gone")
    house.keys("block", "gone")
    reader = house.keys("new", "--role", "admin", "--name", "root")
    heard: list[str] = []
    with house.serve() as served:
        sent: list[str | bytes] = [
            f"Bearer {key}", f"bearer   {key}", f"Bearer {gone}", f"Bearer {reader}", f"Basic {key}", f"{key}",
            f"Bearer {key} {key}", f"Bearer {key}x", f"Bearer {key.upper()}", f"Bearer a.{key}.b", f"Bearer,{key}",
            f"Bearer {key}\xfc".encode("latin-1"), f"Bearer\t{key}", f"Bearer {key * 300}",
        ]  # fmt: skip
        for one in sent:
            for more in ({}, {"stream": True}, {"model": "none"}, {"messages": 7}):
                answer = chat(http, served, one, **more)
                assert answer.status_code in (200, 400, 401, 403, 404, 431), answer.text
                heard += [answer.text, str(answer.headers)]
            headers: Any = {"authorization": one}
            for path in ("/models", "/models/demo-small", "/nothing"):
                answer = http.get(f"{served.base_url}{path}", headers=headers)
                heard += [answer.text, str(answer.headers)]
        heard.append(http.get(served.base_url.replace("/v1", "/metrics")).text)
        house.keys("rotate", "bot")
        wait_until(lambda: any('"event": "keys"' in line for line in served.output))
        assert served.stop() in (0, -signal.SIGTERM)
        heard += served.output
    kept = [one.read_bytes() for one in (tmp_path / "traces").rglob("*") if one.is_file()]
    traces = b"\n".join(kept).decode("utf-8", "replace")
    assert '"subject":"bot"' in traces
    told = "\n".join([*heard, traces, (tmp_path / "keys.yaml").read_text()])
    for one in house.given:
        secret = one.removeprefix("sk-eb-")
        for canary in (secret[6:], secret[:20], one.upper()[12:]):
            assert canary not in told
        assert hashlib.sha256(one.encode()).hexdigest() not in "\n".join([*heard, traces])
