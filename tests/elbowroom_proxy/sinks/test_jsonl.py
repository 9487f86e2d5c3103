"""The sink against a real folder: everything queued is written, and nothing that goes wrong stops it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from functools import partial

import pytest
from structlog.testing import capture_logs

from elbowroom.account.chain import heads_in, parse
from elbowroom.errors import InvalidConfig, TraceUnavailable
from elbowroom_proxy.ports import Texts
from elbowroom_proxy.sinks.beside import Beside
from elbowroom_proxy.sinks.chained import Chained
from elbowroom_proxy.sinks.jsonl import JsonlSink
from elbowroom_proxy.sinks.keeping import Keeping
from elbowroom_proxy.sinks.verify import verify
from tests.proxy import wait_until

KEY = b"k" * 32


def sink_at(folder, **more):
    return JsonlSink(folder, KEY, **more)


def record(number=1, day="2026-03-01", **more):
    return {"trace_id": f"t{number}", "time": f"{day}T10:00:{number:02}.000Z", **more}


def written(folder):
    """The records without their places in the chain."""
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [json.loads(found.body) for line in lines if (found := parse(line)) is not None]


class Slow:
    """A time whose writing waits until it is told to go on."""

    def __init__(self):
        self.reached, self.released = threading.Event(), threading.Event()

    def __str__(self):
        self.reached.set()
        self.released.wait(30)
        return "2026-03-01"


async def test_what_is_queued_is_on_disk_after_close(tmp_path):
    sink = sink_at(tmp_path / "a" / "traces")
    records = [record(n) for n in range(20)]
    assert all(sink.write(one) for one in records)
    await sink.close()
    await sink.close()
    assert written(tmp_path / "a" / "traces") == records


async def test_only_the_owner_may_read(tmp_path):
    sink = sink_at(tmp_path / "traces", beside=Beside(tmp_path / "traces", KEY))
    sink.write(record(), Texts(policy=("d", b"{}"), instructions=(("i", "be kind"),)))
    await sink.intend(record())
    await sink.close()
    made = [tmp_path / "traces", *(tmp_path / "traces").rglob("*")]
    assert {(path.is_dir(), path.stat().st_mode & 0o777) for path in made} == {(True, 0o700), (False, 0o600)}


async def test_two_writers_share_a_folder_and_no_file(tmp_path):
    one, other = sink_at(tmp_path), sink_at(tmp_path)
    for number in range(5):
        one.write(record(number, by="one"))
        other.write(record(number, by="other"))
    await one.close()
    await other.close()
    files = tmp_path.glob("*.jsonl")
    writers = [{json.loads(line)["by"] for line in path.read_text().splitlines()} for path in files]
    assert sorted(writers, key=str) == [{"one"}, {"other"}]


async def test_a_full_queue_says_so_and_waits_for_nothing(tmp_path):
    slow = Slow()
    sink = sink_at(tmp_path, max_queue=1)
    assert sink.write({"time": slow})
    assert slow.reached.wait(30)
    assert sink.write(record(1))
    assert not sink.write(record(2))
    slow.released.set()
    await sink.close()
    assert [one["trace_id"] for one in written(tmp_path)] == ["t1"]


async def test_a_full_batch_waits_for_no_others(tmp_path, monkeypatch):
    slow = Slow()
    sink = sink_at(tmp_path)
    sink.write({"time": slow})
    assert slow.reached.wait(30)
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.BATCH", 2)
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.GATHER", 3600.0)
    for number in (1, 2, 3, 4):
        sink.write(record(number))
    slow.released.set()
    wait_until(lambda: written(tmp_path) == [record(1), record(2)])
    await sink.close()
    assert written(tmp_path) == [record(1), record(2), record(3), record(4)]


async def test_a_record_that_cannot_be_written_is_counted_and_the_next_one_is_tried(tmp_path):
    folder = tmp_path / "traces"
    sink = sink_at(folder)
    sink.write({"time": "2026-03-01", "trace_id": object()})
    sink.write({"no": "time"})
    sink.write(record(3))
    await sink.close()
    assert sink.lost == 2
    assert written(folder) == [record(3)]


async def test_a_folder_that_goes_away_costs_records_and_nothing_else(tmp_path):
    sink = sink_at(tmp_path / "traces")
    shutil.rmtree(tmp_path / "traces")
    sink.write(record())
    await sink.close()
    assert sink.lost == 1


async def test_a_disk_that_is_full_costs_what_was_being_written_and_the_chain_goes_on(tmp_path, monkeypatch):
    sink, real = sink_at(tmp_path), os.write
    refused: list[int] = []

    def write(file, data):
        if b'"t2"' in bytes(data) and not refused:
            refused.append(file)
            real(file, bytes(data)[:10])  # a part of it fitted
            raise OSError(28, "No space left on device")
        return real(file, data)

    def settled(number):
        return sink.lost + len(written(tmp_path)) == number

    monkeypatch.setattr("os.write", write)
    for number in (1, 2, 3):
        sink.write(record(number))
        wait_until(partial(settled, number))
    await sink.close()
    assert sink.lost == 1
    assert written(tmp_path) == [record(1), record(3)]
    assert verify(tmp_path, KEY).findings == ()


async def test_captured_texts_that_find_too_much_waiting_are_left_out_and_the_record_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.MAX_TEXTS", 10)
    sink = sink_at(tmp_path, beside=Beside(tmp_path, KEY))
    texts = Texts(instructions=(("i", "more than ten characters"),))
    assert sink.write(record(captured={"as": "redacted"}), texts)
    await sink.close()
    assert written(tmp_path) == [record(captured=None)]
    assert sink.texts_lost == 1
    assert not (tmp_path / "instructions").exists()


async def test_texts_that_cannot_be_kept_cost_no_record(tmp_path):
    (tmp_path / "policies").write_text("in the way")
    sink = sink_at(tmp_path, beside=Beside(tmp_path, KEY))
    sink.write(record(1), Texts(policy=("digest", b"{}")))
    sink.write({"no": "time"}, Texts(policy=("digest", b"{}")))
    sink.write(record(2), Texts())
    await sink.close()
    assert written(tmp_path) == [record(1), record(2)]
    assert (sink.texts_lost, sink.lost) == (1, 1)


async def test_texts_without_a_place_are_nobodys(tmp_path):
    sink = sink_at(tmp_path)
    sink.write(record(), Texts(policy=("digest", b"{}")))
    await sink.close()
    assert written(tmp_path) == [record()]
    assert not (tmp_path / "policies").exists()


# --- intents ----------------------------------------------------------------------------------------------------------


async def test_an_intent_is_on_the_disk_when_that_is_said(tmp_path):
    sink = sink_at(tmp_path)
    await asyncio.gather(*(sink.intend(record(number, kind="intent")) for number in range(20)))
    assert sorted(one["trace_id"] for one in written(tmp_path / "intents")) == sorted(f"t{n}" for n in range(20))
    assert written(tmp_path) == []
    await sink.close()
    verdict = verify(tmp_path, KEY)
    assert (verdict.findings, verdict.intents, verdict.unfinished) == ((), 20, 20)


async def test_an_intent_that_no_disk_takes_is_refused(tmp_path):
    (tmp_path / "intents").write_text("in the way")
    sink = sink_at(tmp_path)
    with pytest.raises(TraceUnavailable):
        await sink.intend(record())
    await sink.close()


async def test_an_intent_that_finds_the_queue_full_or_nobody_there_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.PATIENCE", 0.01)
    sink = sink_at(tmp_path, max_queue=1)
    await sink.close()
    with pytest.raises(TraceUnavailable):
        await sink.intend(record())  # the thread has ended, so nobody answers
    with pytest.raises(TraceUnavailable):
        await sink.intend(record())  # and now the queue is full


async def test_whoever_no_longer_waits_for_an_intent_is_not_told(tmp_path, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.PATIENCE", 0.0)
    sink = sink_at(tmp_path)
    with pytest.raises(TraceUnavailable):
        await sink.intend(record())
    await sink.close()
    await asyncio.sleep(0)
    assert len(written(tmp_path / "intents")) == 1


# --- the head and what is past its time -------------------------------------------------------------------------------


async def test_the_head_is_said_in_the_log_where_something_was_written(tmp_path):
    with capture_logs() as logs:
        sink = sink_at(tmp_path, minute=0.01)
        sink.write(record(1))
        wait_until(lambda: any(one["event"] == "trace_head" for one in logs))
        sink.write(record(2))
        await sink.close()
    heads = [one["head"] for one in logs if one["event"] == "trace_head"]
    assert heads_in(KEY, " ".join(heads)) == [head for head in heads_in(KEY, " ".join(heads)) if head.n <= 2]
    assert [head.n for head in heads_in(KEY, heads[-1])] == [2]
    assert len(set(heads)) == len(heads)
    assert verify(tmp_path, KEY, heads_in(KEY, " ".join(heads))).findings == ()


async def test_of_intents_cut_off_with_their_head_the_log_still_tells(tmp_path):
    with capture_logs() as logs:
        sink = sink_at(tmp_path)
        await sink.intend(record(1, kind="intent"))
        sink.write(record(1))
        await sink.close()
    heads = heads_in(KEY, " ".join(one["head"] for one in logs))
    assert len({head.writer for head in heads}) == 2
    assert verify(tmp_path, KEY, heads).findings == ()
    shutil.rmtree(tmp_path / "intents")
    assert verify(tmp_path, KEY).findings == ()  # nothing in the folder knows of them
    assert len(verify(tmp_path, KEY, heads).findings) == 1


async def test_a_head_is_said_though_its_file_cannot_be_synced(tmp_path, monkeypatch):
    def fsync(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fsync)
    with capture_logs() as logs:
        sink = sink_at(tmp_path)
        sink.write(record(1))
        sink.write(record(2, day="2026-03-02"))
        await sink.close()
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert {one["event"] for one in logs} == {"trace_file_not_synced", "trace_head"}


async def test_what_a_dead_writer_left_half_written_is_mended_at_the_start(tmp_path):
    (tmp_path / "2026-03-01-1-0123456789ab-0000.jsonl").write_bytes(b'{"half')
    with capture_logs() as logs:
        sink = sink_at(tmp_path, keeping=Keeping(tmp_path, KEY))
        await sink.close()
    assert [one["event"] for one in logs] == ["trace_torn_line"]


async def test_what_is_past_its_time_goes_while_others_are_served(tmp_path, monkeypatch):
    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.TIDY", 1)
    sink = sink_at(tmp_path, keeping=Keeping(tmp_path, KEY, days=1), minute=0.01)
    old = tmp_path / "2026-03-01-1-0000.jsonl"
    old.write_text("")
    wait_until(lambda: not old.exists())
    await sink.close()


async def test_a_folder_that_cannot_be_tidied_is_no_reason_to_stop(tmp_path):
    (tmp_path / "captures" / "2026-01-01" / "a folder").mkdir(parents=True)
    with capture_logs() as logs:
        sink = sink_at(tmp_path, keeping=Keeping(tmp_path, KEY))
        sink.write(record())
        await sink.close()
    assert logs[0]["event"] == "traces_not_tidied"
    assert written(tmp_path) == [record()]


def test_a_folder_that_cannot_be_made_ends_the_start(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidConfig, match=r"file/traces:1: traces cannot be kept here"):
        sink_at(tmp_path / "file" / "traces")


# --- whether it would keep a record -----------------------------------------------------------------------------------


async def test_it_is_well_where_its_folder_takes_something_and_leaves_nothing_there(tmp_path):
    sink = sink_at(tmp_path / "traces")
    assert await sink.healthy()
    assert list((tmp_path / "traces").iterdir()) == []
    shutil.rmtree(tmp_path / "traces")
    assert not await sink.healthy()
    (tmp_path / "traces").mkdir()
    assert await sink.healthy()
    await sink.close()


async def test_it_is_not_well_while_its_queue_is_full(tmp_path, monkeypatch):
    released, reached = threading.Event(), threading.Event()

    def flush(_, **__):
        reached.set()
        released.wait(30)

    monkeypatch.setattr(Chained, "flush", flush)
    sink = sink_at(tmp_path, max_queue=1)
    sink.write(record(1))
    assert await asyncio.to_thread(reached.wait, 30)
    assert await sink.healthy()
    sink.write(record(2))
    assert not await sink.healthy()
    released.set()
    await sink.close()


async def test_a_disk_that_hangs_is_asked_once(tmp_path, monkeypatch):
    released, asked = threading.Event(), []

    def takes(_):
        asked.append(1)
        return released.wait(30)

    monkeypatch.setattr("elbowroom_proxy.sinks.jsonl.PROBE", 0.01)
    monkeypatch.setattr(JsonlSink, "_takes", takes)
    sink = sink_at(tmp_path)
    assert [await sink.healthy() for _ in range(3)] == [False] * 3
    assert asked == [1]
    released.set()
    await sink._probe
    assert await sink.healthy()
    await sink.close()
