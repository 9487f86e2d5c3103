"""The proxy itself, on a loopback port, in this process: a real server in a thread of its own.

Knows: how to write a configuration whose models lead to a test's upstream, and how to wait for a trace record.
Does not know: what a test expects. A test of signals needs `tests.servers.Elbowroom`, a process.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.servers import free_port
from tests.upstream import WAIT, FakeUpstream

if TYPE_CHECKING:
    from elbowroom_proxy.app import Service

SECRET = "a secret of the tests, no more"


def config(upstream: FakeUpstream | str, *, window: int = 16_000, **general: Any) -> str:
    """elbowroom.yaml: `gpt-4o` leads to `upstream`, and so do `fake` and `org/fake`, which are called `gpt-4o` there.

    The demo models are there as well.

    `general` is added to `general_settings`.
    """
    url = upstream if isinstance(upstream, str) else upstream.url
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": "openai/gpt-4o", "api_base": url, "api_key": "upstream-key"},
            "model_info": {"context_window": window, "max_output_tokens": 4_000},
        }
        for name in ("gpt-4o", "fake", "org/fake")
    ]
    demos = [
        {
            "model_name": f"demo-{size}",
            "litellm_params": {"model": f"demo/demo-{size}"},
            "model_info": {"context_window": tokens, "max_output_tokens": 2_000, "family": "gpt-4o"},
        }
        for size, tokens in (("small", 8_192), ("large", 128_000))
    ]
    # JSON is YAML.
    return json.dumps({"model_list": models + demos, "general_settings": {"secret": SECRET, **general}})


class RunningProxy:
    """One server. Use as a context manager; `stop()` drains it as SIGTERM would."""

    def __init__(self, text: str, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """`text` is elbowroom.yaml; `folder` takes it, and the traces where `text` says nothing else. `clock`: seconds
        since 1970.
        """
        # Here, so that a test of the engine need not load the service.
        from elbowroom_proxy import serving, settings

        value = json.loads(text)
        value.setdefault("general_settings", {}).setdefault("traces", str(folder / "traces"))
        file = folder / "elbowroom.yaml"
        file.write_text(json.dumps(value))
        self.settings = settings.load(file, environ={})
        self.traces_folder = Path(self.settings.general.traces)
        self.port = free_port()
        self._server = serving.server(self.settings, "127.0.0.1", self.port, clock)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base_url."""
        return f"{self.url}/v1"

    @property
    def service(self) -> Service:
        """The parts that the running app was made of."""
        service: Service = self._server.config.app.state.service  # type: ignore[union-attr]
        return service

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started
        return self

    def stop(self) -> None:
        """Returns when all is drained and written. Idempotent."""
        self._server.should_exit = True
        self._thread.join(WAIT)
        assert not self._thread.is_alive()

    def refuses_connections(self) -> None:
        """Returns as soon as nobody listens any more."""

        def refused() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port)) != 0

        wait_until(refused)

    def __exit__(self, *_: object) -> None:
        self.stop()

    def traces(self) -> list[dict[str, Any]]:
        """All records that are on disk."""
        files = sorted(self.traces_folder.glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def trace(self, number: int = 0) -> dict[str, Any]:
        """The record of that number, as soon as it is on disk."""
        wait_until(lambda: len(self.traces()) > number)
        return self.traces()[number]


def wait_until(true: Callable[[], bool], patience: float = WAIT) -> None:
    """Returns as soon as it is; fails the test where that takes far too long: `patience` seconds."""
    nothing = threading.Event()
    for _ in range(int(patience / 0.005)):
        if true():
            return
        nothing.wait(0.005)
    pytest.fail("it never came true")


Run = Callable[..., RunningProxy]


@pytest.fixture
def running_proxy(tmp_path: Path) -> Iterator[Run]:
    """Starts proxies for a test, by elbowroom.yaml's text, and stops them after it."""
    running: list[RunningProxy] = []

    def run(text: str) -> RunningProxy:
        folder = tmp_path / f"proxy-{len(running)}"
        folder.mkdir()
        running.append(RunningProxy(text, folder).__enter__())
        return running[-1]

    yield run
    for proxy in running:
        proxy.stop()
