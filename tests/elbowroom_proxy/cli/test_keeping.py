"""`elbowroom traces hold | release | erase`, at a shell of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.__main__ import main
from elbowroom_proxy.ports import Capture, Texts
from elbowroom_proxy.sinks import keeping
from elbowroom_proxy.sinks.beside import Beside
from elbowroom_proxy.sinks.chained import Chained
from elbowroom_proxy.sinks.line import encode
from elbowroom_proxy.sinks.verify import verify
from tests.records import told

FOLDER = Path(".elbowroom/traces")


@pytest.fixture
def key(tmp_path, monkeypatch):
    """A folder with one record, and texts beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELBOWROOM_SECRET", raising=False)
    keys = settings.keys(settings.load(environ={}).general)
    FOLDER.mkdir(parents=True)
    writer = Chained(FOLDER, keys.chain)
    writer.add("2026-03-01", encode(told("aaa", client_request_id="mine")))
    writer.flush()
    writer.close()
    said = Capture(trace_id="aaa", redacted=True, until="2026-03-08", body=b'{"messages":[]}', headers={}, answer="")
    Beside(FOLDER, b"t" * 32).keep(Texts(capture=said), "2026-03-01")
    return keys.chain


def test_a_trace_is_held_by_any_of_its_ids_and_released(key, capsys):
    assert main(["traces", "hold", "mine", "--reason", "incident 4711"]) == 0
    (file,) = FOLDER.glob("*.jsonl")
    assert capsys.readouterr().out == f"aaa and all of {file.name} stay until it is released\n"
    assert keeping.holds(FOLDER)["aaa"].reason == "incident 4711"
    assert main(["traces", "erase", "aaa"]) == 1
    assert main(["traces", "release", "mine"]) == 0
    assert main(["traces", "release", "mine"]) == 1
    assert keeping.holds(FOLDER) == {}


def test_texts_are_erased_and_the_record_stays(key, capsys):
    assert main(["traces", "erase", "req_aaa"]) == 0
    assert main(["traces", "erase", "aaa"]) == 0
    assert capsys.readouterr().out == "the captured texts of aaa are erased\nno texts of aaa are kept\n"
    verdict = verify(FOLDER, key)
    assert (verdict.findings, verdict.lines, verdict.erased) == ((), 1, 1)


def test_what_is_nowhere_is_said_to_be_nowhere(key, capsys):
    assert main(["traces", "hold", "no\x1bne", "--reason", "x"]) == 1
    assert main(["traces", "erase", "none"]) == 1
    said = capsys.readouterr().err
    assert "has the id no\\x1bne" in said
    assert "has the id none" in said


def test_without_the_secret_nothing_can_be_signed_and_nothing_is_erased(key, capsys):
    Path(".elbowroom/secret").unlink()
    assert main(["traces", "erase", "aaa"]) == 1
    assert "not at hand" in capsys.readouterr().err
    assert list((FOLDER / "captures").glob("*/aaa"))
