"""How the service is run: on which address, with how many processes, and what is said at start.

Knows: uvicorn's options, who may be served without keys, that workers share one listening socket, that one which ends
is replaced, and in which folder their metrics add up.
Does not know: what the application does (`app`), or how workers are watched (uvicorn's supervisor does that).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import Any, TextIO, cast

import structlog
import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import app, metrics
from elbowroom_proxy import settings as configured
from elbowroom_proxy.gathered import Protocol
from elbowroom_proxy.ledgerconfig import check_workers
from elbowroom_proxy.settings import Settings
from elbowroom_proxy.stderr import Stderr

KEEP_ALIVE = 75  # seconds; longer than clients keep a connection, so that none finds it just closed
PATIENCE = 60  # seconds in which a worker must give a sign of life; its first comes when all of it is loaded


def server(settings: Settings, host: str, port: int, clock: Callable[[], float] = time.time) -> uvicorn.Server:
    """A server that is not started yet. SIGTERM: no new connections, streams end or are told so at the deadline.
    `clock`: seconds since 1970, by which everything that is kept is dated.
    """
    made = app.create_app(settings, configured.keys(settings.general), clock)
    return uvicorn.Server(uvicorn.Config(made, **_options(settings, host, port)))


def serve(file: Path | None, host: str, port: int, *, everybody: bool = False, workers: int = 1) -> None:
    """Serves what `file` says, the built-in configuration without one, until it is told to stop.

    Raises `InvalidConfig` for what is wrong in it; where others could reach it, nobody needs a key, and it was not said
    that `everybody` may; and where so many `workers` could not keep to the budgets together.
    """
    settings = configured.load(file)
    log_to_stderr()
    if not settings.closed:
        if not (everybody or is_loopback(host)):
            raise InvalidConfig(
                f"{host}: without keys everybody who reaches this address may ask for everything, and no access "
                "label is held against anybody. Configure keys or jwt, or say --open if that is meant."
            )
        structlog.get_logger().warning("open: no keys are configured; everybody may ask for everything", host=host)
    for note in settings.notes:
        structlog.get_logger().warning(note)
    check_workers(settings.general.ledger, settings.directory.accounts, workers)
    if workers == 1:
        server(settings, host, port).run()
    else:
        _serve_together(file, settings, host, port, workers)


class _Workers(Multiprocess):
    """uvicorn's supervisor, which also takes what a worker was doing out of the metrics when that worker ends. It hears
    a signal while one loads: uvicorn's own waits for that one's answer first, longer than whoever stops it waits.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._asked: dict[int | None, float] = {}  # by process: since when one owes an answer, in monotonic seconds

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        answering = [self._answers(process) for process in self.processes]
        if not all(answering):
            return  # asked again in half a second
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            mark_process_dead(pid)

    def _answers(self, process: Process) -> bool:
        """Whether it did now, or never will again."""
        if not process.process.is_alive():
            self._asked.pop(process.pid, None)
            return True
        if process.pid not in self._asked:
            self._asked[process.pid] = time.monotonic()
            process.parent_conn.send(b"ping")
        if process.parent_conn.poll():
            process.parent_conn.recv()
            del self._asked[process.pid]
            return True
        if time.monotonic() - self._asked[process.pid] > PATIENCE:
            process.process.kill()
        return False


def _serve_together(file: Path | None, settings: Settings, host: str, port: int, workers: int) -> None:
    options = _options(settings, host, port)
    config = uvicorn.Config(partial(worker, file, closed=settings.closed), factory=True, workers=workers, **options)
    with tempfile.TemporaryDirectory(prefix="elbowroom-metrics-") as folder:
        os.environ[metrics.TOGETHER] = folder  # before a worker loads the library that reads it
        configured.keys(settings.general)  # makes the secret that all of them share, where it is kept in a file
        _Workers(config, [config.bind_socket()]).run()


def worker(file: Path | None, *, closed: bool = False) -> FastAPI:
    """The application of one of several processes. Raises `InvalidConfig` where the first ones were `closed`, and this
    one would be open: one that takes another's place after its keys were deleted.
    """
    log_to_stderr()
    _end_with_parent()
    settings = configured.load(file)
    if closed and not settings.closed:
        raise InvalidConfig(f"{settings.keys_file}:1: the keys are gone; whoever has none is not let in for that")
    return app.create_app(settings, configured.keys(settings.general))


def _end_with_parent() -> None:
    """Where the supervisor is killed, nobody tells a worker to stop: it would serve on, and hold the address."""
    if (parent := multiprocessing.parent_process()) is None:
        return

    def watched() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watched, name="elbowroom-parent", daemon=True).start()


def _options(settings: Settings, host: str, port: int) -> dict[str, Any]:
    return {
        "host": host,
        "port": port,
        "http": Protocol,
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,  # it says what it says where everything is said
        "log_level": "info",
        "server_header": False,
        "timeout_keep_alive": KEEP_ALIVE,
        "timeout_worker_healthcheck": PATIENCE,
        "timeout_graceful_shutdown": max(1, round(settings.general.drain_timeout)),
    }


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def log_to_stderr(level: int = logging.INFO) -> None:
    """One JSON line an event, on standard error, whoever says it: what libraries log has the same form. A line and its
    end are written at once, or those of several workers would mix.
    """
    told: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
    ]
    written: list[Any] = [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
    out = cast("TextIO", Stderr())
    structlog.configure(
        processors=[*told, *written],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(out),
    )
    handler = logging.StreamHandler(out)
    handler.set_name("elbowroom")
    handler.setLevel(level)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=told, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *written]
        )
    )
    root = logging.getLogger()
    for other in [one for one in root.handlers if one.name == handler.name]:
        root.removeHandler(other)
    root.addHandler(handler)
