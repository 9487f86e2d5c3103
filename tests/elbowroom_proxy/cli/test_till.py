"""Where a command reads budgets: in a Redis itself, in a process's memory through the proxy alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from elbowroom_proxy.cli import till
from elbowroom_proxy.cli.till import Unread
from tests.command import Here
from tests.holders import row, written
from tests.proxy import Run, config
from tests.servers import free_port
from tests.upstream import FakeUpstream

ADMIN = "sk-eb-adminadmin"


def test_sums_in_memory_are_asked_of_the_proxy(running_proxy: Run, fake_upstream: FakeUpstream, here: Here, tmp_path):
    rows = [row("bot", "sk-eb-user"), row("adm", ADMIN, role="admin", org=None, team=None)]
    files = written(tmp_path, *rows, rpm_limit=5)
    text = config(fake_upstream, orgs=files["orgs"], keys=files["keys"])
    (tmp_path / "elbowroom.yaml").write_text(text)
    proxy = running_proxy(text)
    body = {"model": "fake", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"authorization": "Bearer sk-eb-user"}
    assert httpx.post(f"{proxy.base_url}/chat/completions", json=body, headers=headers, timeout=30).status_code == 200
    here_too = ("--config", "elbowroom.yaml")
    for command in (("show",), ("explain", "bot"), ("rebuild",)):
        done = here("budgets", *command, *here_too)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("This ledger is in the memory of the proxy that serves")
    at = ("--url", f"{proxy.url}/")
    shown = here("budgets", "show", *here_too, *at, ELBOWROOM_KEY=ADMIN)
    assert "support  requests a minute" in shown.stdout
    assert (
        "There is room for 4 of the same"
        in here("budgets", "explain", "bot", *here_too, *at, ELBOWROOM_KEY=ADMIN).stdout
    )
    refused = here("budgets", "show", *here_too, *at, ELBOWROOM_KEY="sk-eb-user")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "refuses: This key may not read this" in refused.stderr


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that says this to everybody."""

    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Says) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "body"), [(200, b"{}"), (200, b"<html>"), (404, b"no"), (500, b"[]"), (502, b"{}")])
def test_what_is_no_proxy_of_ours_is_said_to_be_none(status: int, body: bytes):
    with answering(status, body) as url, pytest.raises(Unread, match="answers, but is no elbowroom"):
        till.asked(url, {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "nonsense", "http://[::1"])
def test_who_does_not_answer_is_said(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(till.KEY, raising=False)
    with pytest.raises(Unread, match="cannot be asked"):
        till.asked(url.format(port=free_port()), {})


def test_a_key_that_cannot_be_sent_is_not_repeated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(till.KEY, "sk-eb-schlüssel-→")
    with pytest.raises(Unread, match=r"ELBOWROOM_KEY is no key$"):
        till.asked(f"http://127.0.0.1:{free_port()}", {})


def test_a_redis_that_does_not_answer_is_said(here: Here, tmp_path: Path):
    ledger = {"store": "redis", "url": f"redis://127.0.0.1:{free_port()}/0"}
    written(tmp_path, row("bot", "sk-eb-user"), rpm_limit=5)
    (tmp_path / "elbowroom.yaml").write_text(config("http://127.0.0.1:1/v1", ledger=ledger))
    done = here("budgets", "show", "--config", "elbowroom.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ledger" in done.stderr.lower()
