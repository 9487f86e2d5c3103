"""The real command: what it prints, how it ends, and that it goes on serving at a terminal."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
from functools import partial

import httpx
import pytest
import uvicorn

from elbowroom_proxy import serving, settings
from elbowroom_proxy.cli import demo
from elbowroom_proxy.cli.samples import Sample, samples
from tests import holders
from tests.command import elbowroom, environment
from tests.house.tree import ROOT
from tests.servers import script

README = (ROOT / "README.md").read_text("utf-8")


def test_every_sample_is_answered_billed_as_counted_and_traced(tmp_path):
    done = elbowroom("demo", cwd=tmp_path, env={"REDIS_URL": "redis://127.0.0.1:1/0"})
    told = done.stdout.decode()
    todo = samples()
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"{len(todo)} requests: {len(todo)} answered, {len(todo)} billed exactly as counted" in told
    for sample in todo:
        assert sample.name in told
    for name in ("window     |", "tokens     counted ", "overhead   ", "answer     ", "trace      "):
        assert told.count(f"\n{name}") == len(todo)
    for said in (
        "duplicate: same text as",
        "messages left out",
        "of 5,000 rows",
        "excerpt, of ",
        "control strings broken",
    ):
        assert said in told
    shown = README.split("$ make demo\n", 1)[1].split("```", 1)[0].splitlines()
    assert [line for line in shown if "..." not in line and "overhead" not in line and line not in told] == []
    traces = re.findall(r"^trace      (\w+)$", told, re.MULTILINE)
    assert elbowroom("traces", "show", traces[0], cwd=tmp_path).stdout.startswith(b"trace      " + traces[0].encode())


def test_at_a_terminal_it_goes_on_serving(tmp_path):
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [script("elbowroom"), "demo"],
        cwd=tmp_path,
        env=environment(),
        stdout=theirs,
        # Whoever runs the tests in the background has it ignored by all that they start.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 -- it waits for no lock
    ) as process:
        os.close(theirs)
        told = b""
        while not (found := re.search(rb"base_url=(http://[\d.:]+/v1)", told)):
            told += os.read(ours, 65536)
        assert httpx.get(found[1].decode() + "/models").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    os.close(ours)


@pytest.mark.parametrize(
    ("status", "count_error", "expected"), [(200, 0, 0), (200, 1, 1), (200, None, 1), (500, None, 1)]
)
def test_one_that_fails_or_costs_more_than_counted_is_an_exit_status(tmp_path, status, count_error, expected):
    good = {"status": 200, "count_error": 0, "timings_ms": {"overhead": 1.0}}
    other = {"status": status, "count_error": count_error, "timings_ms": {}}
    assert demo.summary([good, other], tmp_path) == expected


def test_a_refusal_is_an_answer_that_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = Sample("n", "l", {"model": "nobody", "messages": [{"role": "user", "content": "热泵?"}]})
    configured = settings.load(environ={})
    with (
        demo.serving(serving.server(configured, "127.0.0.1", 0)) as address,
        httpx.Client(base_url=address) as client,
    ):
        answer = demo.ask(client, sample.body)
        story = demo.trace(tmp_path / ".elbowroom" / "traces", answer.trace_id)
    told = list(demo.told(sample, answer, story, 8192))
    assert (answer.status, story["status"]) == (404, 404)
    assert "question   热泵?" in told
    assert any(line.startswith("answer     ") and "model_not_found" in line for line in told)


def test_an_operators_keys_do_not_close_it(tmp_path, monkeypatch, root):
    folder = tmp_path / "config"
    shutil.copytree(root / "config", folder)
    (folder / "keys.yaml").write_text(holders.keys_text())
    monkeypatch.setattr(settings, "config_folder", lambda: folder)
    assert settings.load(environ={}).closed
    assert not demo.built_in().closed


def test_a_server_that_cannot_start_ends_it():
    class Broken(uvicorn.Server):
        def run(self, sockets=None):
            """As one whose address is taken: over before it began."""

    with pytest.raises(SystemExit, match="did not start"), demo.serving(Broken(uvicorn.Config(app="none"))):
        pytest.fail("it started")


def test_a_trace_that_never_comes_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "PATIENCE", 0.01)
    with pytest.raises(SystemExit, match="no trace t1"):
        demo.trace(tmp_path, "t1")
