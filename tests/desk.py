"""The review desk on a loopback port, over a folder of records that a test wrote, and what it takes to log in.

Knows: how records become files, how the pages are put together, and keys that a test can block while it runs.
Does not know: a whole proxy (`tests.proxy`), or what any page should say.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
import uvicorn
from fastapi import FastAPI
from msgspec import structs

from elbowroom.account.trace import Facts, record
from elbowroom.records import Principal
from elbowroom_proxy.answering import offline
from elbowroom_proxy.cli.pack import OFFLINE_SECRET, Offline
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.principal import OPEN
from elbowroom_proxy.replaying import Again
from elbowroom_proxy.routes import errors, ui
from elbowroom_proxy.routes.door import Door
from elbowroom_proxy.session import Sessions
from elbowroom_proxy.settings import Settings, keys, load
from elbowroom_proxy.sinks.line import encode
from elbowroom_proxy.tokens import Tokens
from elbowroom_proxy.vocabularies import Vocabularies
from tests.servers import free_port
from tests.upstream import WAIT

KEY = "sk-eb-a-key-of-the-tests"
EVERYBODYS = Principal("ann", role="auditor", keyed=True)
START = 1_790_000_000.0  # seconds since 1970: the desk's clock, until a test moves it


class SomeKeys:
    """The port `Keys`, as a test fills it."""

    def __init__(self, **principals: Principal) -> None:
        """`principals` by their keys, underscores for hyphens."""
        self.principals = {key.replace("_", "-"): one for key, one in principals.items()}

    def find(self, digest: str) -> Principal | None:
        return next((one for key, one in self.principals.items() if sha256(key) == digest), None)


def sha256(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def unread(ident: str, **more: Any) -> dict[str, Any]:
    """The record of a request that could not be read."""
    told = record(None, Facts(trace_id=ident, time="2026-11-02T08:00:00.000+00:00", status=400))
    return {**told, "error": {"code": "invalid_request", "message": "not JSON"}, **more}


class RunningDesk:
    """The pages over `folder`. Use as a context manager."""

    def __init__(self, folder: Path, held: SomeKeys | None, captured: Mapping[str, Mapping[str, Any]]) -> None:
        """Without `held` the desk is open. `captured` are texts by trace id."""
        self.settings: Settings = load(environ={})
        self.policy = self.settings.policy  # in force
        self.now = START
        self.port = free_port()
        self.reads: list[Mapping[str, Any]] = []
        self.sweep = folder / "sweep"
        self._folder = folder
        derived = keys(structs.replace(self.settings.general, secret=OFFLINE_SECRET))
        self._offline = Offline(self.settings, None, None)
        self.index = SqliteIndex(folder)
        self._crawl = Crawl(self.index)

        async def identify(_: Mapping[str, str]) -> Principal:
            return OPEN if held is None else EVERYBODYS

        def keep(read: Mapping[str, Any]) -> bool:
            self.reads.append(read)
            return True

        tokens = Tokens(Vocabularies(), secret=derived.counts)
        again = Again(self.settings, derived, [self.settings.policy], offline(tokens.count_now))
        sessions = Sessions(held or SomeKeys(), derived.desk, clock=lambda: self.now)
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
        errors.install(app)
        app.include_router(
            ui.routes(
                ui.Review(
                    desk=Desk(self.index, self._crawl, keep, now=lambda: self.now),
                    door=Door(identify, sessions),
                    again=lambda: again,
                    policy=lambda _: self.policy,
                    captured=lambda story: captured.get(story["trace_id"]),
                    most=1 << 20,
                    sweep=self.sweep,
                )
            )
        )
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="warning", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def decided(self, body: bytes, ident: str, **more: Any) -> dict[str, Any]:
        """The record of that request, answered."""
        told = {
            **self._offline.pack(body).story,
            "trace_id": ident,
            "time": "2026-11-02T08:00:00.000+00:00",
            "request_id": f"req_{ident[:24]}",
            "upstream": "demo",
            "status": 200,
            "finish_reason": "stop",
            "timings_ms": {"overhead": 12.5, "first_byte": 412.0, "total": 980.25},
        }
        counted = told["counted"]["tokens"]
        told["billed"] = {"prompt_tokens": counted, "completion_tokens": 40, "cached_tokens": 0, "reasoning_tokens": 0}
        return {**told, "count_error": 0, **more}

    def write(self, stories: Sequence[Mapping[str, Any]]) -> None:
        """Adds records, and reads them into the index."""
        file = self._folder / "2026-11-02-1-0000.jsonl"
        with file.open("ab") as lines:
            lines.writelines(encode(one) + b"\n" for one in stories)
        self._crawl.finish()

    def __enter__(self) -> Self:
        self._thread.start()
        nothing = threading.Event()
        for _ in range(int(WAIT / 0.005)):
            if self._server.started:
                return self
            nothing.wait(0.005)
        raise RuntimeError("the desk did not start")

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(WAIT)
        self.index.close()


Open = Callable[..., RunningDesk]


@pytest.fixture
def running_desk(tmp_path: Path) -> Iterator[Open]:
    """Starts desks for a test, each over a folder of its own, and stops them after it."""
    running: list[RunningDesk] = []

    def run(held: SomeKeys | None = None, captured: Mapping[str, Mapping[str, Any]] | None = None) -> RunningDesk:
        folder = tmp_path / f"traces-{len(running)}"
        folder.mkdir()
        running.append(RunningDesk(folder, held, captured or {}).__enter__())
        return running[-1]

    yield run
    for desk in running:
        desk.__exit__()
