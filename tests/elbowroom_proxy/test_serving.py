"""The service as it is run: until it is told to stop, and with several processes on one address."""

from __future__ import annotations

import io
import json
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import structlog
from fastapi import FastAPI
from structlog.testing import capture_logs

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import metrics, serving, settings
from tests.command import elbowroom, environment
from tests.holders import written
from tests.proxy import config, wait_until
from tests.servers import READY_SECONDS, Elbowroom, Process, free_port
from tests.upstream import WAIT, FakeUpstream, answer_stream, streamed

LOADING = 120.0  # seconds that workers may take to load, on a busy machine
HELLO = {"model": "fake", "messages": [{"role": "user", "content": "hello"}]}


def made(tmp_path: Path, text: str) -> settings.Settings:
    file = tmp_path / "elbowroom.yaml"
    value = json.loads(text)
    value["general_settings"]["traces"] = str(tmp_path / "traces")
    file.write_text(json.dumps(value))
    return settings.load(file, {})


def test_serve_serves_until_it_is_told_to_stop(tmp_path, monkeypatch, capsys):
    found = made(tmp_path, config("http://127.0.0.1:1/v1"))
    server = serving.server(found, "127.0.0.1", free_port())
    server.should_exit = True  # it starts, and is told so at once
    monkeypatch.setattr(serving, "server", lambda *_: server)
    serving.serve(tmp_path / "elbowroom.yaml", "127.0.0.1", free_port())
    structlog.get_logger("elbowroom").info("request", text="退款")
    assert server.started
    line = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (line["event"], line["level"], line["text"]) == ("request", "info", "退款")


def test_sigterm_lets_streams_end_and_records_reach_the_disk(tmp_path, fake_upstream):
    made(tmp_path, config(fake_upstream))
    port = free_port()
    program = (
        "from pathlib import Path; from elbowroom_proxy import serving; "
        f"serving.serve(Path('elbowroom.yaml'), '127.0.0.1', {port})"
    )
    gate, whole = fake_upstream.gate(), streamed("a", "b")
    fake_upstream.answers(answer_stream(*whole.parts[:2], gate, *whole.parts[2:]))
    body = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    with Process([sys.executable, "-c", program], "Uvicorn running on", cwd=tmp_path) as process:
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with httpx.stream("POST", url, json=body, timeout=WAIT) as answer:
            os.kill(process.pid, signal.SIGTERM)
            wait_until(lambda: any("Shutting down" in line for line in process.output))
            gate.open()
            text = answer.read()
        assert process.stop() in {0, -signal.SIGTERM}
    assert text.endswith(b"data: [DONE]\n\n")
    (file,) = (tmp_path / "traces").glob("*.jsonl")
    (record,) = map(json.loads, file.read_text().splitlines())
    assert (record["finish_reason"], record["disconnected"]) == ("stop", False)
    logged = [json.loads(line) for line in process.output]
    assert "Shutting down" in [line["event"] for line in logged]  # the server's own words have the same form
    assert [line["trace_id"] for line in logged if line["event"] == "request"] == [record["trace_id"]]


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("10.0.0.5", False), ("proxy.example", False), ("", False)],
)  # fmt: skip
def test_which_addresses_only_this_machine_can_reach(host: str, alone: bool):
    assert serving.is_loopback(host) is alone


# --- several processes ------------------------------------------------------------------------------------------------


def served_by(folder: Path) -> set[int]:
    """The processes that have written records."""
    return {int(file.name.split("-")[3]) for file in folder.glob("traces/*.jsonl")}


def started(server: Elbowroom, number: int) -> None:
    """Returns once so many workers have; loading takes long where others keep the machine busy."""
    wait_until(lambda: sum("startup complete" in line for line in list(server.output)) == number, 2 * READY_SECONDS)


def asked(server: Elbowroom) -> None:
    assert httpx.post(f"{server.base_url}/chat/completions", json=HELLO, timeout=WAIT).status_code == 200


def counted(server: Elbowroom) -> float:
    """Requests by /metrics, as whichever worker answers shows them."""
    shown = httpx.get(f"{server.base_url.removesuffix('/v1')}/metrics", timeout=WAIT).text
    return sum(float(line.split()[-1]) for line in shown.splitlines() if line.startswith("elbowroom_requests_total"))


NOW = ("requests_open", "traces_waiting", "ledger_holds_open", "killed", "ledger_up", "config_reload_good")


def shown(server: Elbowroom, name: str) -> float | None:
    """One number, as whichever worker answers shows it; None where it is not one."""
    text = httpx.get(f"{server.base_url.removesuffix('/v1')}/metrics", timeout=WAIT).text
    found = [float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"{name} ")]
    return found[0] if len(found) == 1 else None


def test_workers_share_an_address_and_their_metrics_add_up(tmp_path: Path, fake_upstream: FakeUpstream):
    made(tmp_path, config(fake_upstream))
    arguments = ("--config", "elbowroom.yaml", "--workers", "2")
    with Elbowroom(tmp_path, *arguments, env=environment()) as server:
        started(server, 2)
        asked(server)
        wait_until(lambda: len(served_by(tmp_path)) == 1)
        (first,) = served_by(tmp_path)
        os.kill(first, signal.SIGSTOP)  # now only the other one can answer
        try:
            asked(server)
            wait_until(lambda: len(served_by(tmp_path)) == 2)
            assert counted(server) == 2
        finally:
            os.kill(first, signal.SIGCONT)
        # What a worker counted outlives it, and another takes its place.
        os.kill(first, signal.SIGKILL)
        started(server, 3)
        asked(server)
        assert counted(server) == 3
        # Of what rises and falls, the sum of what is, or the worst of what both say: not what one saw last.
        wait_until(lambda: [shown(server, f"elbowroom_{name}") for name in NOW] == [0, 0, 0, 0, 1, 1])
        assert server.stop() == 0
    assert sum("Finished server process" in line for line in server.output) == 2


def test_a_worker_that_is_slow_to_load_is_not_taken_for_dead(tmp_path: Path, monkeypatch):
    """On a busy machine loading takes more than the supervisor's usual five seconds: none would ever come up."""
    made(tmp_path, config("http://127.0.0.1:1/v1"))
    waited: list[int] = []
    monkeypatch.setattr(serving._Workers, "run", lambda self: waited.append(self.config.timeout_worker_healthcheck))
    monkeypatch.setenv(metrics.TOGETHER, "")
    serving.serve(tmp_path / "elbowroom.yaml", "127.0.0.1", 0, workers=2)
    assert waited == [serving.PATIENCE]
    assert serving.PATIENCE >= 60


@pytest.fixture
def pair(tmp_path: Path, fake_upstream: FakeUpstream) -> Iterator[Elbowroom]:
    """Two workers that serve."""
    made(tmp_path, config(fake_upstream))
    with Elbowroom(tmp_path, "--config", "elbowroom.yaml", "--workers", "2", env=environment()) as server:
        wait_until(lambda: sum("Application startup complete" in line for line in server.output) == 2, LOADING)
        yield server


def workers(server: Elbowroom) -> list[int]:
    """Those that began to serve."""
    return [int(line.split("[")[1].split("]")[0]) for line in server.output if "Started server process" in line]


def test_workers_end_with_their_supervisor(pair: Elbowroom):
    os.kill(pair.pid, signal.SIGKILL)
    wait_until(lambda: sum("Finished server process" in line for line in pair.output) == 2)
    with pytest.raises(httpx.ConnectError):
        asked(pair)


def test_a_supervisor_hears_that_it_is_to_stop_while_a_worker_says_nothing(pair: Elbowroom):
    first, second = workers(pair)
    os.kill(first, signal.SIGSTOP)  # as one that loads: it does not answer
    try:
        os.kill(pair.pid, signal.SIGTERM)
        wait_until(lambda: any(f"Finished server process [{second}]" in line for line in pair.output))
    finally:
        os.kill(first, signal.SIGCONT)
    assert pair.stop() == 0
    assert any(f"Finished server process [{first}]" in line for line in pair.output)


def test_a_worker_that_never_answers_is_killed(monkeypatch: pytest.MonkeyPatch):
    silent = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(WAIT,))
    silent.start()
    conn, _ = multiprocessing.Pipe()
    workers = object.__new__(serving._Workers)
    workers._asked = {}
    process = SimpleNamespace(process=silent, parent_conn=conn, pid=silent.pid)
    assert not workers._answers(process)  # type: ignore[arg-type]
    monkeypatch.setattr(serving, "PATIENCE", 0)
    assert not workers._answers(process)  # type: ignore[arg-type]
    silent.join(WAIT)
    assert workers._answers(process)  # type: ignore[arg-type]
    assert (silent.exitcode, workers._asked) == (-signal.SIGKILL, {})


@pytest.mark.parametrize("word", ["0", "-1", "65", "many"])
def test_a_number_of_workers_that_is_none_is_refused(tmp_path: Path, word: str):
    done = elbowroom("serve", "--workers", word, cwd=tmp_path)
    assert done.returncode == 2
    assert b"must be a number of processes, 1 to 64" in done.stderr


def test_workers_with_a_limit_and_no_common_ledger_are_not_started(tmp_path: Path):
    (tmp_path / "elbowroom.yaml").write_text(config("http://127.0.0.1:1/v1", traces=str(tmp_path / "traces")))
    written(tmp_path, rpm_limit=3)
    done = elbowroom("serve", "--config", "elbowroom.yaml", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert b"acme/support is limited, and each of 2 workers with a ledger in memory" in done.stderr


def test_a_worker_that_finds_no_keys_any_more_is_not_open(tmp_path: Path):
    (tmp_path / "elbowroom.yaml").write_text(config("http://127.0.0.1:1/v1", traces=str(tmp_path / "traces")))
    with pytest.raises(InvalidConfig, match=r"keys.yaml:1: the keys are gone"):
        serving.worker(tmp_path / "elbowroom.yaml", closed=True)
    assert isinstance(serving.worker(tmp_path / "elbowroom.yaml", closed=False), FastAPI)


class Pieces(io.StringIO):
    """What was written, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return len(text)


def test_a_line_is_written_in_one_piece(monkeypatch):
    """Unbuffered, as in the image, each piece is a call of its own, and another worker may write between two."""
    err = Pieces()
    monkeypatch.setattr(sys, "stderr", err)
    serving.log_to_stderr()
    structlog.get_logger().info("one", text="a\nb")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("some.library").exception("two %s", "words")
    assert all(piece.endswith("\n") and piece.count("\n") == 1 for piece in err.pieces)
    first, second = map(json.loads, err.pieces)
    assert (first["event"], first["level"], first["text"]) == ("one", "info", "a\nb")
    assert (second["event"], second["level"]) == ("two words", "error")
    assert second["exception"].endswith("ValueError: two\nlines")


def test_a_logger_that_was_made_earlier_speaks_to_what_stderr_is_now(capsys, monkeypatch):
    previous = structlog.get_config()
    try:
        serving.log_to_stderr()
        log = structlog.get_logger()
        log.info("first")
        now = io.StringIO()
        monkeypatch.setattr(sys, "stderr", now)
        log.info("second")
    finally:
        structlog.configure(**previous)
    assert '"first"' in capsys.readouterr().err
    assert '"second"' in now.getvalue()
    with capture_logs() as logged:  # nor does it keep the form of that time
        log.info("third")
    assert [entry["event"] for entry in logged] == ["third"]
