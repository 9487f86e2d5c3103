"""Several worker processes of one proxy over one Redis, and a client that says byte by byte what it does.

Knows: how organisations, keys and the ledger are written down, which processes serve, and how to be heard by one alone.
Does not know: what a test expects.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import redis

from tests.command import environment
from tests.emitting import model
from tests.holders import keys_text, row
from tests.proxy import SECRET, wait_until
from tests.servers import Elbowroom

PATIENCE = 120.0  # seconds until anybody gives up on what should have happened long ago
SUMS = ("t", "ht", "m", "hm")  # spent and held: tokens, micro-USD


def key_of(org: str, team: str, name: str) -> str:
    """The key of that name."""
    return f"sk-eb-fleet-{org}-{team}-{name}-000000000000"


class Fleet(Elbowroom):
    """`workers` processes before `upstream`, their ledger in the Redis at `ledger`."""

    def __init__(
        self,
        folder: Path,
        upstream: str,
        ledger: str,
        orgs: Sequence[Mapping[str, Any]],
        *,
        workers: int,
        general: Mapping[str, Any] | None = None,
        **row_of_ledger: Any,
    ) -> None:
        """`orgs`: as in orgs.yaml; a team's `keys` are names with their limits, and go to keys.yaml."""
        self.folder, self.ledger, self.workers = folder, ledger, workers
        rows, named = [], []
        for org in orgs:
            teams = []
            for team in org["teams"]:
                for name, limits in team.get("keys", {"bot": {}}).items():
                    key = key_of(org["name"], team["name"], name)
                    rows.append(
                        {
                            **row(f"{org['name']}-{team['name']}-{name}", key, **limits),
                            "org": org["name"],
                            "team": team["name"],
                        }
                    )
                teams.append({said: value for said, value in team.items() if said != "keys"})
            named.append({**org, "teams": teams})
        (folder / "orgs.yaml").write_text(json.dumps({"orgs": named}))
        (folder / "keys.yaml").write_text(keys_text(*rows))
        said = {"store": "redis", "url": ledger, "timeout": 10, **row_of_ledger}
        settings = {"secret": SECRET, "traces": "traces", "ledger": said, **(general or {})}
        (folder / "elbowroom.yaml").write_text(
            json.dumps({"model_list": [model(upstream)], "general_settings": settings})
        )
        super().__init__(folder, "--config", "elbowroom.yaml", "--workers", str(workers), env=environment())
        self.output: deque[str] = deque(maxlen=200_000)  # which workers began must not be forgotten

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def all_up(self) -> None:
        """Returns when every worker serves: on a busy machine that takes much longer than any answer."""
        wait_until(self._all_serve, PATIENCE)

    def _all_serve(self) -> bool:
        return sum("Application startup complete" in line for line in list(self.output)) >= self.workers

    def pids(self) -> list[int]:
        """The workers, as each said of itself when it began; the dead ones, too."""
        words = (line.split("[") for line in list(self.output) if "Started server process" in line)
        return [int(after.partition("]")[0]) for _, after in words]

    def sums(self) -> dict[str, dict[str, int]]:
        """What the Redis keeps of each level, by `<org>/<kind>:<name>`: `SUMS`, and `o`, the requests under way."""
        with redis.Redis.from_url(self.ledger, decode_responses=True) as client:
            return read_sums(client, ledger_keys(client))


def ledger_keys(client: redis.Redis) -> list[str]:
    """Of every level: what is live of it, and its sums."""
    return [key for key in map(str, client.keys("eb:ldg:1:*")) if ":s:" in key or ":l:" in key]


def read_sums(client: redis.Redis, keys: Sequence[str]) -> dict[str, dict[str, int]]:
    """One command a key, so each level's sums are of one instant."""
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.hmget(key, SUMS if ":s:" in key else ("o",))
    found: dict[str, dict[str, int]] = {}
    for key, values in zip(keys, pipe.execute(), strict=True):
        org, _, rest = key.partition("{")[2].partition("}:")
        kind, name = rest.split(":")[1:3]
        names = SUMS if rest.startswith("s:") else ("o",)
        found.setdefault(f"{org}/{kind}:{name}", {}).update(zip(names, (int(one or 0) for one in values), strict=True))
    return found


class Heard(NamedTuple):
    """An answer, as far as it was read. `status` 0: none came."""

    status: int
    head: bytes
    body: bytes

    @property
    def code(self) -> str:
        """The error's."""
        return str(json.loads(self.body)["error"]["code"])


class Line:
    """One connection to the proxy. Closed by the end of `async with`, whatever is still to come."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    async def __aenter__(self) -> Line:
        self.reader, self.writer = await asyncio.open_connection(*self._address)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    def send(self, key: str, body: bytes, path: str = "/v1/chat/completions", *, last: bool = True) -> None:
        """`last`: the proxy closes the connection after its answer."""
        self.writer.write(
            f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n{'connection: close' if last else 'x-last: no'}\r\n\r\n".encode()
            + body
        )

    async def heard(self, word: bytes = b"", often: int = 0) -> Heard:
        """The answer to the end of the connection, or until `word` has come so often."""
        raw = b""
        try:
            async with asyncio.timeout(PATIENCE):
                while not (often and raw.count(word) >= often) and (more := await self.reader.read(65_536)):
                    raw += more
        except ConnectionError:
            pass  # the worker is gone: what came is what there is
        head, _, body = raw.partition(b"\r\n\r\n")
        return Heard(int(head.split()[1]) if head else 0, head, body)

    async def known(self) -> None:
        """Returns when a worker has taken the connection: it answered a question."""
        self.writer.write(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n")
        raw = b""
        async with asyncio.timeout(PATIENCE):
            while not raw.endswith(b"}"):
                more = await self.reader.read(65_536)
                assert more
                raw += more


@contextmanager
def only(pid: int, pids: Sequence[int]) -> Iterator[None]:
    """All other processes stand still meanwhile, so it is this one that takes what comes."""
    others = [one for one in pids if one != pid]
    for one in others:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in others:
            os.kill(one, signal.SIGCONT)
