"""A folder of several writers: whatever is done to it without the key is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from elbowroom.account.chain import heads_in
from elbowroom_proxy.sinks.chained import Chained, front_of
from elbowroom_proxy.sinks.verify import verify

KEY = b"k" * 32


def body(number, by):
    return b'{"trace_id":"%b%d","version":2}' % (by.encode(), number)


def fill(folder, by, lines=6):
    """A writer's files, two lines each; its head."""
    writer = Chained(folder, KEY, max_bytes=200)
    for number in range(lines):
        writer.add("2026-03-01", body(number, by))
    writer.flush()
    head = writer.head
    writer.close()
    return head


@pytest.fixture
def folder(tmp_path):
    fill(tmp_path, "a")
    fill(tmp_path, "b")
    return tmp_path


def files(folder, by):
    return sorted(path for path in folder.glob("*.jsonl") if f'"trace_id":"{by}'.encode() in path.read_bytes())


def kinds(folder, heads=()):
    return [one.kind for one in verify(folder, KEY, heads).findings]


def test_what_nobody_touched_is_proved(folder):
    verdict = verify(folder, KEY)
    assert verdict.findings == ()
    assert (verdict.writers, verdict.files, verdict.lines, verdict.sealed, verdict.unsealed) == (2, 6, 12, 12, 0)
    assert (verdict.removed, verdict.unchained, verdict.torn, verdict.intents) == (0, 0, (), 0)


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    assert verify(tmp_path / "none", KEY).files == 0


def test_with_another_key_nothing_is_proved(folder):
    verdict = verify(folder, b"o" * 32)
    assert [(one.kind, one.where) for one in verdict.findings] == [("not_signed", folder.name)]
    assert verdict.sealed == 0


def test_one_changed_byte_is_found(folder):
    path = files(folder, "b")[1]
    path.write_bytes(path.read_bytes().replace(b'"b2"', b'"b9"'))
    (finding,) = verify(folder, KEY).findings
    assert (finding.kind, finding.where) == ("changed", f"{path.name}:1")


def test_a_removed_line_and_two_that_were_swapped_are_found(folder):
    one, two = files(folder, "a")[:2]
    lines = one.read_bytes().splitlines(keepends=True)
    one.write_bytes(lines[0])
    assert kinds(folder) == ["missing"]
    one.write_bytes(lines[1] + lines[0])
    assert kinds(folder) == ["missing", "moved"]
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert "moved" in kinds(folder)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_removed_file_is_found_wherever_it_was(folder, at):
    files(folder, "b")[at].unlink()
    assert kinds(folder) == ["cut" if at == 2 else "missing"]


def test_a_tail_that_was_cut_is_found_by_the_writers_head(folder):
    path = files(folder, "b")[2]
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert kinds(folder) == ["cut"]
    path.write_bytes(path.read_bytes()[:-1])  # and so is a line that lost its end
    assert (kinds(folder), verify(folder, KEY).torn) == (["cut"], (path.name,))


def gone(folder, by):
    writer = files(folder, by)[0].name.split("-")[4]
    for path in (*files(folder, by), folder / "heads" / writer):
        path.unlink()
    return writer


def test_a_writer_that_vanished_is_known_from_the_one_after_it(folder):
    writer = gone(folder, "a")
    (finding,) = verify(folder, KEY).findings
    assert (finding.kind, finding.where) == ("cut", writer)


def test_the_last_writer_that_vanished_is_known_from_outside_only(folder):
    head = front_of(max((folder / "heads").iterdir(), key=lambda path: path.stat().st_mtime_ns))
    writer = gone(folder, "b")
    assert kinds(folder) == []
    (finding,) = verify(folder, KEY, heads_in(KEY, f"log line: {head}")).findings
    assert (finding.kind, finding.where) == ("cut", writer)


def test_a_head_that_was_put_back_is_known_from_outside_only(folder):
    """An older head, kept by whoever cuts, goes with the shorter file."""
    writer = Chained(folder, KEY)
    writer.add("2026-03-02", body(0, "c"))
    writer.flush()
    path, old = folder / "heads" / writer.writer, (folder / "heads" / writer.writer).read_bytes()
    writer.add("2026-03-02", body(1, "c"))
    writer.flush()
    told = writer.head
    writer.close()
    path.write_bytes(old)
    (file,) = files(folder, "c")
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    assert kinds(folder) == []
    assert kinds(folder, heads_in(KEY, told)) == ["cut"]


def test_a_head_that_was_damaged_or_removed_is_found(folder):
    path = min((folder / "heads").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    whole = path.read_bytes()
    path.write_bytes(b"nothing" + whole)
    assert kinds(folder) == ["not_signed"]  # the writer after it signed it, too
    path.write_bytes(whole.replace(b'"heads":[]', b'"heads":[0]'))
    assert kinds(folder) == ["not_signed"]
    for one in (folder / "heads").iterdir():
        one.unlink()
    assert kinds(folder) == ["no_head", "no_head"]


def test_a_tail_that_was_cut_is_found_where_its_head_was_removed_with_it(folder):
    """The writer that began meanwhile knows the first lines only, and that would do for what is left."""
    writer = Chained(folder, KEY)
    writer.add("2026-03-02", body(0, "c"))
    writer.flush()
    fill(folder, "d")
    writer.add("2026-03-02", body(1, "c"))
    writer.flush()
    writer.close()
    (file,) = files(folder, "c")
    (folder / "heads" / file.name.split("-")[4]).unlink()
    assert kinds(folder) == ["no_head"]
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    (finding,) = verify(folder, KEY).findings
    assert (finding.kind, finding.where) == ("no_head", file.name.split("-")[4])


def test_lines_behind_the_head_are_counted(folder):
    """As where the process was killed between a batch and its head."""
    writer = Chained(folder, KEY)
    writer.add("2026-03-02", body(0, "c"))
    writer.flush()
    path, old = folder / "heads" / writer.writer, (folder / "heads" / writer.writer).read_bytes()
    writer.add("2026-03-02", body(1, "c"))
    writer.flush()
    writer.close()
    path.write_bytes(old)
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.unsealed, verdict.lines) == ((), 1, 14)


def test_lines_from_before_there_were_chains_are_counted_and_no_others_pass_for_them(folder):
    old = folder / "2026-01-01-17-0000.jsonl"
    old.write_bytes(b'{"version":1,"trace_id":"x"}\nhalf a li\n')
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.unchained) == ((), 2)
    old.write_bytes(body(0, "new") + b"\n" + files(folder, "a")[0].read_bytes())
    assert kinds(folder) == ["unchained"] * 3
    old.write_bytes(b'{"version":"one"}\n{"version":[1]}\n' + b"[" * 100_000 + b"\n")  # whatever stands there
    assert kinds(folder) == ["unchained"] * 2


def test_a_line_that_lost_its_place_is_found(folder):
    path = files(folder, "b")[0]
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first[: first.index(b',"chain"')] + b"}\n" + second)
    assert kinds(folder) == ["unchained", "missing"]


def test_intents_without_a_record_are_counted(folder):
    intents = Chained(folder / "intents", KEY)
    (folder / "intents").mkdir()
    for told in (b'{"trace_id":"a1"}', b'{"trace_id":"nowhere"}'):
        intents.add("2026-03-01", told)
    intents.flush(synced=True)
    head = intents.head
    intents.close()
    (folder / "2026-01-01-17-0000.jsonl").write_bytes(b'{"version":1,"trace_id":"old"}\n')
    verdict = verify(folder, KEY, heads_in(KEY, head))
    assert (verdict.findings, verdict.intents, verdict.unfinished, verdict.lines) == ((), 2, 1, 12)
    (path,) = (folder / "intents").glob("*.jsonl")
    path.unlink()
    assert kinds(folder) == ["cut"]


WRITE_ON = """
import sys, itertools
from pathlib import Path
from elbowroom_proxy.sinks.chained import Chained
writer = Chained(Path(sys.argv[1]), b"k" * 32)
for number in itertools.count():
    writer.add("2026-03-03", b'{"trace_id":"k%d","version":2,"x":"%b"}' % (number, b"x" * 5000))
    writer.flush()
    if number == 20:
        print("ready", flush=True)
"""


def test_what_was_written_by_a_process_that_was_killed_is_proved(folder):
    command = [sys.executable, "-c", WRITE_ON, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    verdict = verify(folder, KEY)
    assert verdict.findings == ()
    assert verdict.sealed >= 12 + 21
    assert verdict.unsealed <= 1
