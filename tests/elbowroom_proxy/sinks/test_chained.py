"""One writer's files: names, lines in the chain, a head after each batch, and what a disk that fails leaves."""

from __future__ import annotations

import os
import shutil

import pytest
from structlog.testing import capture_logs

from elbowroom.account.chain import heads_in, parse, unsealed
from elbowroom_proxy.sinks import chained
from elbowroom_proxy.sinks.chained import Chained, front_of, named
from elbowroom_proxy.sinks.locks import abandoned
from elbowroom_proxy.sinks.verify import verify

KEY = b"k" * 32


def body(number):
    return b'{"trace_id":"t%d"}' % number


def filled(folder, numbers, day="2026-03-01", **more):
    writer = Chained(folder, KEY, **more)
    for number in numbers:
        writer.add(day, body(number))
    writer.flush()
    return writer


def lines(folder):
    return {path.name[:10] + path.name[-10:-6]: path.read_text().count("\n") for path in folder.glob("*.jsonl")}


def test_a_day_and_a_size_end_a_file_and_the_chain_goes_on(tmp_path):
    writer = filled(tmp_path, [1, 2, 3], max_bytes=180)
    writer.add("2026-03-02", body(4))
    writer.flush()
    writer.close()
    assert lines(tmp_path) == {"2026-03-010000": 2, "2026-03-010001": 1, "2026-03-020002": 1}
    verdict = verify(tmp_path, KEY)
    assert (verdict.findings, verdict.lines, verdict.sealed) == ((), 4, 4)


def test_names_say_whose_a_file_is(tmp_path):
    writer = filled(tmp_path, [1])
    (path,) = tmp_path.glob("*.jsonl")
    assert path.name == f"2026-03-01-{os.getpid()}-{writer.writer}-0000.jsonl"
    assert named(path) == ("2026-03-01", writer.writer, 0)
    assert named(tmp_path / "2026-03-01-77-0002.jsonl") == ("2026-03-01", None, 2)
    for other in ("x.jsonl", "2026-03-01-77-last.jsonl", "2026-03-01-77-0002.json"):
        assert named(tmp_path / other) is None
    writer.close()


def test_the_head_on_the_disk_is_that_of_the_last_batch(tmp_path):
    writer = filled(tmp_path, [1, 2])
    assert heads_in(KEY, front_of(tmp_path / "heads" / writer.writer))[0].n == 2
    writer.add("2026-03-01", body(3))
    assert heads_in(KEY, front_of(tmp_path / "heads" / writer.writer))[0].n == 2
    writer.flush(synced=True)
    assert heads_in(KEY, front_of(tmp_path / "heads" / writer.writer))[0].n == 3
    writer.close()


def test_a_writer_signs_the_heads_of_those_before_it(tmp_path):
    first = filled(tmp_path, [1, 2])
    second = filled(tmp_path, [3])
    told = unsealed(KEY, (tmp_path / "heads" / second.writer).read_bytes().partition(b"\n")[2].strip())
    assert told is not None
    assert [head.writer for head in heads_in(KEY, " ".join(told["heads"]))] == [first.writer]
    first.close()
    second.close()


def test_only_the_latest_heads_are_signed(tmp_path):
    for number in range(3):
        (tmp_path / str(number)).write_text(f"head {number}\n")
        os.utime(tmp_path / str(number), (number, number))
    assert chained.others(tmp_path, most=2) == ["head 2", "head 1"]


@pytest.mark.parametrize("step", ["stat", "read"])
def test_a_head_that_another_process_takes_away_meanwhile_costs_no_record(tmp_path, monkeypatch, step):
    gone = filled(tmp_path, [1])
    gone.close()
    file = next((tmp_path / "heads").iterdir())
    if step == "stat":
        listed = chained.heads_of(tmp_path / "heads")
        monkeypatch.setattr(chained, "heads_of", lambda _: listed)
        file.unlink()
    else:
        monkeypatch.setattr(chained, "front_of", lambda path: path.unlink() or front_of(path))
    writer = filled(tmp_path, [2])
    writer.close()
    assert (writer.lost, len(list(tmp_path.glob("*.jsonl")))) == (0, 2)


def test_nothing_is_made_before_the_first_line(tmp_path):
    writer = Chained(tmp_path / "none", KEY)
    writer.flush()
    writer.sync()
    writer.close()
    assert not (tmp_path / "none").exists()


def test_a_file_is_locked_while_it_is_written(tmp_path):
    writer = filled(tmp_path, [1])
    (path,) = tmp_path.glob("*.jsonl")
    with abandoned(path) as file:
        assert file is None
    writer.sync()
    writer.close()
    with abandoned(path) as file:
        assert file is not None


class Full:
    """A disk that takes `room` bytes, then no more; `stuck`: it gives none back, either."""

    def __init__(self, monkeypatch, room, *, stuck=False):
        self.room = room
        self.real = os.write
        monkeypatch.setattr("os.write", self.write)
        if stuck:
            monkeypatch.setattr("os.ftruncate", self.refuse)

    def write(self, file, data):
        if not self.room:
            self.refuse()
        written = self.real(file, bytes(data)[: self.room])
        self.room -= written
        return written

    @staticmethod
    def refuse(*_):
        raise OSError(28, "No space left on device")


def test_a_batch_that_was_not_written_whole_is_taken_back(tmp_path, monkeypatch):
    writer = filled(tmp_path, [1])
    with monkeypatch.context() as patch:
        Full(patch, room=150)
        writer.add("2026-03-01", body(2))
        writer.add("2026-03-01", body(3))
        with pytest.raises(OSError, match="No space"):
            writer.flush()
    assert writer.lost == 2
    writer.add("2026-03-01", body(4))
    writer.flush()
    writer.close()
    found = [parse(line) for path in sorted(tmp_path.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    assert [line.body for line in found if line is not None] == [body(1), body(4)]
    verdict = verify(tmp_path, KEY)
    assert (verdict.findings, verdict.torn, verdict.writers) == ((), (), 1)


def test_a_disk_that_stays_full_does_not_fill_with_empty_files(tmp_path, monkeypatch):
    writer = filled(tmp_path, [1])
    with monkeypatch.context() as patch:
        Full(patch, room=150)
        for number in range(5):
            writer.add("2026-03-01", body(number))
            writer.add("2026-03-01", body(number))
            with pytest.raises(OSError, match="No space"):
                writer.flush()
    assert len(lines(tmp_path)) == 1
    writer.add("2026-03-01", body(9))
    writer.flush()
    writer.close()
    assert sorted(lines(tmp_path).values()) == [1, 1]
    assert verify(tmp_path, KEY).findings == ()


def test_where_nothing_can_be_taken_back_another_chain_begins(tmp_path, monkeypatch):
    writer = filled(tmp_path, [1])
    with monkeypatch.context() as patch:
        Full(patch, room=20, stuck=True)
        writer.add("2026-03-01", body(2))
        with pytest.raises(OSError, match="No space"):
            writer.flush()
    writer.add("2026-03-01", body(3))
    writer.flush()
    writer.close()
    verdict = verify(tmp_path, KEY)
    assert (verdict.findings, len(verdict.torn), verdict.writers, verdict.lines) == ((), 1, 2, 2)


@pytest.mark.parametrize("gone", ["file", "heads", "folder"])
def test_what_is_removed_while_it_is_written_is_begun_anew_and_said(tmp_path, gone):
    folder = tmp_path / "traces"
    folder.mkdir()
    writer = filled(folder, [1, 2])
    if gone == "folder":
        shutil.rmtree(folder)
    else:
        next(folder.glob("*.jsonl" if gone == "file" else "heads/*")).unlink()
    writer.add("2026-03-01", body(3))
    with capture_logs() as logged:
        writer.flush()
    writer.add("2026-03-01", body(4))
    writer.flush()
    writer.close()
    assert [(one["event"], one["lines"]) for one in logged] == [("trace_file_gone", 2)]
    assert lines(folder)["2026-03-010001"] == 2
    assert folder.stat().st_mode & 0o77 == (0 if gone == "folder" else folder.stat().st_mode & 0o77)
    assert [one.kind for one in verify(folder, KEY).findings] == ([] if gone == "heads" else ["missing"])


def test_where_it_cannot_be_begun_anew_its_lines_are_lost_and_counted(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    writer = filled(folder, [1])
    shutil.rmtree(folder)
    folder.write_text("in the way")
    writer.add("2026-03-01", body(2))
    with pytest.raises(OSError, match="traces"):
        writer.flush()
    assert writer.lost == 1
    folder.unlink()
    folder.mkdir()
    writer.add("2026-03-01", body(3))
    writer.flush()
    writer.close()
    assert sum(lines(folder).values()) == 1
