"""The real command on a folder of real records."""

from __future__ import annotations

import json

import pytest

from elbowroom.account.trace import Billed, Facts, record
from elbowroom_proxy.cli.pack import Offline
from elbowroom_proxy.settings import load
from elbowroom_proxy.sinks.line import encode
from tests.command import elbowroom

ASKED = {
    "model": "demo-small",
    "messages": [{"role": "user", "content": "How loud?"}],
    "documents": [{"id": "a", "text": "41 dB by day."}, {"id": "b", "text": ""}],
}


@pytest.fixture
def folder(tmp_path):
    story = Offline(load(environ={}), None, None).pack(json.dumps(ASKED).encode()).story
    facts = {"trace_id": "aaa", "time": "2026-03-01T10:00:00.000Z", "request_id": "req_a", "client_request_id": "mine"}
    tokens = story["counted"]["tokens"]
    answered = {**story, **facts, "status": 200, "billed": {"prompt_tokens": tokens, "completion_tokens": 3}}
    refused = record(None, Facts(trace_id="bbb", time="2026-03-01T11:00:00.000Z", status=400, billed=Billed(1, 1)))
    (tmp_path / ".elbowroom" / "traces").mkdir(parents=True)
    (tmp_path / ".elbowroom" / "traces" / "2026-03-01-1-0000.jsonl").write_bytes(
        encode(answered) + b"\n" + encode(refused) + b"\n"
    )
    return tmp_path


def test_the_latest_are_listed_first(folder):
    done = elbowroom("traces", "list", cwd=folder)
    head, *rows = done.stdout.decode().splitlines()
    assert head.split() == ["time", "trace", "model", "class", "status", "in", "out", "counted", "billed"]
    assert rows[0].split() == ["2026-03-01T11:00:00.000", "bbb", "-", "-", "400", "0", "0", "-", "1"]
    assert rows[1].split()[:7] == ["2026-03-01T10:00:00.000", "aaa", "demo-small", "general", "200", "1", "1"]
    assert rows[1].split()[7] == rows[1].split()[8]


def test_so_many_and_no_more(folder):
    done = elbowroom("traces", "list", "-n", "1", "--folder", ".elbowroom/traces", cwd=folder)
    assert [line.split()[1] for line in done.stdout.decode().splitlines()] == ["trace", "bbb"]


@pytest.mark.parametrize("ident", ["aaa", "req_a", "mine"])
def test_one_is_shown_by_any_of_its_ids(folder, ident):
    told = elbowroom("traces", "show", ident, cwd=folder).stdout.decode()
    assert told.startswith("trace      aaa 2026-03-01T10:00:00.000Z\nids        req_a, client's mine\n")
    assert "documents  1 admitted, 1 dropped: empty 1\n" in told


def test_the_record_itself_is_one_line(folder):
    done = elbowroom("traces", "show", "aaa", "--json", cwd=folder)
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout)["request_id"] == "req_a"


def test_what_is_not_there_is_said(folder):
    done = elbowroom("traces", "show", "no\x1bne", cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"no trace in .elbowroom/traces has the id no\\x1bne\n"
