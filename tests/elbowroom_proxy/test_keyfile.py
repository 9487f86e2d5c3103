"""The file of keys is changed by one process at a time, whole, and for its owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.directory import KeyRow, KeysFile, parsed
from elbowroom_proxy.keyfile import change, written

ADD = """\
import sys
from pathlib import Path
from msgspec import structs
from elbowroom_proxy.directory import KeyRow
from elbowroom_proxy.keyfile import change
sys.stdin.read()
for i in range(5):
    row = KeyRow(name=f"{sys.argv[2]}-{i}", role="admin")
    change(Path(sys.argv[1]), lambda rows: structs.replace(rows, keys=(*rows.keys, row)))
"""


def added(name: str):
    return lambda rows: structs.replace(rows, keys=(*rows.keys, KeyRow(name=name, role="admin")))


def names(file: Path) -> list[str]:
    return [row.name for row in parsed(file.read_bytes(), str(file)).keys]


def test_it_comes_into_being_for_its_owner_alone(tmp_path: Path):
    file = tmp_path / "keys.yaml"
    before = os.umask(0)
    try:
        assert [row.name for row in change(file, added("a")).keys] == ["a"]
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["keys.yaml", "keys.yaml.lock"]


def test_it_is_another_file_each_time_and_the_same_where_nothing_changes(tmp_path: Path):
    file = tmp_path / "keys.yaml"
    change(file, added("a"))
    first = file.stat().st_ino
    with file.open("rb") as reading:  # who reads the old one goes on reading a whole one
        change(file, added("b"))
        assert b'"b"' not in reading.read()
    second = file.stat()
    assert second.st_ino != first
    change(file, lambda rows: rows)
    assert file.stat() == second
    assert names(file) == ["a", "b"]


def test_several_processes_lose_nothing_of_each_other(tmp_path: Path):
    file = tmp_path / "keys.yaml"
    words = [sys.executable, "-c", ADD, str(file)]
    running = [subprocess.Popen([*words, f"p{n}"], stdin=subprocess.PIPE) for n in range(4)]
    for one in running:  # all begin at once
        assert one.stdin is not None
        one.stdin.close()
    assert [one.wait() for one in running] == [0] * 4
    assert sorted(names(file)) == sorted(f"p{n}-{i}" for n in range(4) for i in range(5))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["keys.yaml", "keys.yaml.lock"]


def test_what_goes_wrong_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "keys.yaml"
    change(file, added("a"))
    before = file.read_bytes()

    def no(rows: KeysFile) -> KeysFile:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        change(file, no)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(InvalidConfig, match=r"keys.yaml:1: No space left on device"):
            change(file, added("b"))
    assert file.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["keys.yaml", "keys.yaml.lock"]
    file.write_text("keys: 7")
    with pytest.raises(InvalidConfig, match=r"keys.yaml:1: "):
        change(file, added("b"))
    with pytest.raises(InvalidConfig, match=r"none/keys.yaml:1: No such file"):
        change(tmp_path / "none" / "keys.yaml", added("b"))


def test_a_link_stays_one(tmp_path: Path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "keys.yaml"
    link.symlink_to(tmp_path / "there" / "keys.yaml")
    change(link, added("a"))
    assert link.is_symlink()
    assert names(tmp_path / "there" / "keys.yaml") == ["a"]


def test_one_key_is_one_line():
    rows = KeysFile(keys=(KeyRow(name="a", role="admin"), KeyRow(name="b", role="auditor", blocked=True)))
    text = written(rows)
    assert text.decode().splitlines()[2:4] == [
        '{"name":"a","role":"admin"},',
        '{"name":"b","role":"auditor","blocked":true}',
    ]
    assert parsed(text, "keys.yaml") == rows
    # Whoever reads it as YAML finds the same.
    assert parsed(text.replace(b'{"version"', b'{ "version"').replace(b"]}", b"], }"), "keys.yaml") == rows
    assert parsed(written(KeysFile()), "keys.yaml") == KeysFile()
