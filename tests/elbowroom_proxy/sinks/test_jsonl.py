"""The sink against a real folder: everything queued is written, and nothing that goes wrong stops it."""

from __future__ import annotations

import json
import shutil
import threading

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.sinks.jsonl import JsonlSink


def record(number=1, day="2026-03-01", **more):
    return {"trace_id": f"t{number}", "time": f"{day}T10:00:{number:02}.000Z", **more}


def written(folder):
    return [json.loads(line) for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


async def test_what_is_queued_is_on_disk_after_close(tmp_path):
    sink = JsonlSink(tmp_path / "a" / "traces")
    records = [record(n) for n in range(20)]
    assert all(sink.write(one) for one in records)
    await sink.close()
    await sink.close()
    assert written(tmp_path / "a" / "traces") == records


async def test_only_the_owner_may_read(tmp_path):
    sink = JsonlSink(tmp_path / "traces")
    sink.write(record())
    await sink.close()
    assert (tmp_path / "traces").stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "traces").iterdir()] == [0o600]


async def test_a_day_and_a_size_end_a_file(tmp_path):
    sink = JsonlSink(tmp_path, max_bytes=100)
    for one in (record(1), record(2, text="x" * 100), record(3), record(4, day="2026-03-02")):
        sink.write(one)
    await sink.close()
    lines = {path.name[:10] + path.name[-10:-6]: path.read_text().count("\n") for path in tmp_path.iterdir()}
    assert lines == {"2026-03-01" + "0000": 2, "2026-03-01" + "0001": 1, "2026-03-02" + "0000": 1}


async def test_two_writers_share_a_folder_and_no_file(tmp_path):
    one, other = JsonlSink(tmp_path), JsonlSink(tmp_path)
    for number in range(5):
        one.write(record(number, by="one"))
        other.write(record(number, by="other"))
    await one.close()
    await other.close()
    writers = [{json.loads(line)["by"] for line in path.read_text().splitlines()} for path in tmp_path.iterdir()]
    assert sorted(writers, key=str) == [{"one"}, {"other"}]


async def test_a_full_queue_says_so_and_waits_for_nothing(tmp_path):
    reached, released = threading.Event(), threading.Event()

    class Slow:
        def __str__(self):
            reached.set()
            released.wait(30)
            return "2026-03-01"

    sink = JsonlSink(tmp_path, max_queue=1)
    assert sink.write({"time": Slow()})
    assert reached.wait(30)
    assert sink.write(record(1))
    assert not sink.write(record(2))
    released.set()
    await sink.close()
    assert [one["trace_id"] for one in written(tmp_path)] == ["t1"]


async def test_a_record_that_cannot_be_written_is_counted_and_the_next_one_is_tried(tmp_path):
    folder = tmp_path / "traces"
    sink = JsonlSink(folder)
    sink.write({"time": "2026-03-01", "trace_id": object()})
    sink.write({"no": "time"})
    sink.write(record(3))
    await sink.close()
    assert sink.lost == 2
    assert written(folder) == [record(3)]


async def test_a_folder_that_goes_away_costs_records_and_nothing_else(tmp_path):
    sink = JsonlSink(tmp_path / "traces")
    shutil.rmtree(tmp_path / "traces")
    sink.write(record())
    await sink.close()
    assert sink.lost == 1


async def test_a_file_that_cannot_be_synced_is_no_reason_to_stop(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    sink = JsonlSink(tmp_path)
    sink.write(record(1))
    sink.write(record(2, day="2026-03-02"))
    await sink.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_cannot_be_made_ends_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidConfig, match=r"file/traces:1: traces cannot be kept here"):
        JsonlSink(tmp_path / "file" / "traces")
