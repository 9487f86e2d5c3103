"""Files are read as they grow, vanish, tear and change, by one or by many, and end up in the index once."""

from __future__ import annotations

import json
import multiprocessing
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.account.search import Filters, Indexed, Scope
from elbowroom.account.trace import VERSION
from elbowroom_proxy import crawl
from elbowroom_proxy.crawl import Crawl, Indexer, line_at
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.ports import Place
from tests.proxy import wait_until
from tests.records import FIRST, put, told


@pytest.fixture
def index(tmp_path):
    made = SqliteIndex(tmp_path)
    yield made
    made.close()


def found(index) -> str:
    return "".join(row.trace_id for row in index.page(Filters(), Scope()).rows)


def test_what_is_added_is_read_and_nothing_twice(index, tmp_path):
    reader = Crawl(index)
    put(tmp_path, told("a", 1))
    reader.finish()
    put(tmp_path, told("b", 2))
    put(tmp_path, told("c", 3), name="2026-03-01-2-0000.jsonl")
    reader.finish()
    reader.finish()
    assert found(index) == "cba"


def test_a_torn_line_is_read_once_it_is_whole_and_is_not_behind_until_then(index, tmp_path):
    reader = Crawl(index)
    line = json.dumps(told("b", 2))
    put(tmp_path, told("a", 1), torn=line[:40])
    reader.finish()
    assert (found(index), reader.indexed(Indexed()).behind) == ("a", 0)
    with (tmp_path / FIRST).open("a") as file:
        file.write(line[40:] + "\n")
    assert reader.indexed(Indexed()).behind == len(line) + 1
    reader.finish()
    assert (found(index), reader.indexed(Indexed()).behind) == ("ba", 0)


def test_lines_that_are_none_are_counted_and_passed_over(index, tmp_path):
    put(tmp_path, told("a", 1), torn="{x\n\n[]\n")
    put(tmp_path, {"kind": "checkpoint"}, told("b", 2))
    Crawl(index).finish()
    assert (found(index), index.indexed(Scope()).unread) == ("ba", 3)


def test_what_is_gone_is_gone_from_the_index(index, tmp_path):
    put(tmp_path, told("a", 1))
    gone = put(tmp_path, told("b", 2, dropped=["stale"]), name="2026-03-02-1-0000.jsonl")
    reader = Crawl(index)
    reader.finish()
    gone.unlink()
    reader.finish()
    assert (found(index), index.overview(Filters(), Scope()).reasons) == ("a", ())


@pytest.mark.parametrize("longer", [False, True])
def test_another_file_by_the_same_name_is_read_anew(index, tmp_path, longer):
    put(tmp_path, told("a", 1), told("b", 2))
    reader = Crawl(index)
    reader.finish()
    other = put(tmp_path, *[told(str(n), 3) for n in range(5 if longer else 1)], name="other")
    other.rename(tmp_path / FIRST)
    reader.finish()
    assert found(index) == ("43210" if longer else "0")


def test_a_file_that_was_cut_is_read_anew(index, tmp_path):
    path = put(tmp_path, told("a", 1))
    size = path.stat().st_size
    put(tmp_path, told("b", 2))
    reader = Crawl(index)
    reader.finish()
    with path.open("r+b") as file:
        file.truncate(size)
    reader.finish()
    assert found(index) == "a"


@settings(max_examples=40)
@given(st.lists(st.integers(0, 200), max_size=12), st.integers(1, 600), st.integers(1, 2000))
def test_whatever_is_read_at_once_all_of_it_is_read(tmp_path_factory, lengths, piece, step):
    folder = tmp_path_factory.mktemp("pieces")
    put(folder, *(told(f"{n:02}", n % 3, model="x" * length) for n, length in enumerate(lengths)))
    made = SqliteIndex(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crawl, "PIECE", piece)
        patch.setattr(crawl, "STEP", step)
        Crawl(made).finish()
    rows = list(made.each(Filters(), Scope()))
    assert sorted(row.trace_id for row, _ in rows) == [f"{n:02}" for n in range(len(lengths))]
    assert all(line_at(place, row.trace_id) is not None for row, place in rows)
    made.close()


def test_a_step_is_bounded_and_the_newest_files_come_first(index, tmp_path, monkeypatch):
    monkeypatch.setattr(crawl, "STEP", 1)
    for day in (1, 2, 3):
        put(tmp_path, told(str(day), day), name=f"2026-03-0{day}-1-0000.jsonl")
    reader = Crawl(index)
    assert reader.step()
    assert found(index) == "3"
    assert reader.indexed(Indexed()).behind > 0
    assert reader.step()
    assert reader.step()
    assert not reader.step()
    assert found(index) == "321"


def test_how_long_it_is_behind_is_said(index, tmp_path):
    now = [100.0]
    reader = Crawl(index, clock=lambda: now[0])
    reader.finish()
    now[0] = 103.5
    assert reader.indexed(Indexed(records=7)) == Indexed(records=7)
    put(tmp_path, told("a", 1))
    late = reader.indexed(Indexed())
    assert (late.behind > 0, late.lag) == (True, 3.5)


def test_while_another_writes_nothing_is_done(index, tmp_path):
    put(tmp_path, told("a", 1))
    with index.writing():
        assert not Crawl(index).step()
        assert not Crawl(index).again()
    assert found(index) == ""


def test_all_can_be_read_again(index, tmp_path):
    put(tmp_path, told("a", 1))
    reader = Crawl(index)
    reader.finish()
    assert reader.again()
    assert found(index) == ""
    reader.finish()
    assert found(index) == "a"


def test_a_thread_keeps_it_current_until_it_is_closed(index, tmp_path):
    indexer = Indexer(Crawl(index))
    indexer.start()
    put(tmp_path, told("a", 1))
    wait_until(lambda: found(index) == "a")
    put(tmp_path, told("b", 2))
    wait_until(lambda: found(index) == "ba")
    indexer.close()
    indexer.close()
    assert not any(one.name == "elbowroom-index" for one in threading.enumerate())


def test_one_that_was_never_started_can_be_closed(index):
    Indexer(Crawl(index)).close()


def test_trouble_is_said_once_and_outlived(index, tmp_path, monkeypatch):
    said: list[str] = []
    tried = threading.Semaphore(0)
    monkeypatch.setattr(crawl, "EVERY", 0.001)
    monkeypatch.setattr(crawl.log, "error", lambda event, **more: said.append(more["error"]))

    class Troubled(Crawl):
        failing = True

        def step(self):
            tried.release()
            if self.failing:
                raise OSError("the disk is gone")
            return super().step()

    put(tmp_path, told("a", 1))
    troubled = Troubled(index)
    indexer = Indexer(troubled)
    indexer.start()
    for _ in range(3):
        assert tried.acquire(timeout=30)
    troubled.failing = False
    wait_until(lambda: found(index) == "a")
    indexer.close()
    assert said == ["the disk is gone"]


def _crawl_until(folder: Path, wanted: int) -> None:
    index = SqliteIndex(folder)
    reader = Crawl(index)
    pause = threading.Event()
    while index.indexed(Scope()).records < wanted:
        reader.step()
        pause.wait(0.001)
    index.close()


def test_several_processes_index_one_folder_while_it_grows(index, tmp_path):
    wanted = 40
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_crawl_until, args=(tmp_path, wanted)) for _ in range(2)]
    for other in others:
        other.start()
    for n in range(wanted):
        put(tmp_path, told(f"{n:03}", n % 24), name=f"2026-03-01-{n % 3}-0000.jsonl")
    for other in others:
        other.join(60)
        assert other.exitcode == 0
    assert sorted(row.trace_id for row, _ in index.each(Filters(), Scope())) == [f"{n:03}" for n in range(wanted)]


def test_records_of_every_version_are_found_and_shown_in_the_present_one(index, tmp_path, root):
    kept = sorted((root / "tests" / "fixtures" / "traces").glob("*.jsonl"))
    for number, file in enumerate(kept):
        (tmp_path / f"2026-03-01-{number}-0000.jsonl").write_bytes(file.read_bytes())
    Crawl(index).finish()
    rows = list(index.each(Filters(), Scope()))
    assert len(kept) >= 2
    assert {place.file for _, place in rows} == {f"2026-03-01-{number}-0000.jsonl" for number in range(len(kept))}
    assert index.indexed(Scope()).unread == 0
    shown = [line_at(place, row.trace_id) for row, place in rows]
    assert {one["version"] for one in shown if one is not None} == {VERSION}
    assert None not in shown


@pytest.mark.parametrize(
    "place",
    [Place("", "gone.jsonl", 0, 9), Place("", FIRST, 3, 9), Place("", FIRST, 0, 5), Place("", "list.jsonl", 0, 2)],
)
def test_a_record_that_is_not_there_any_more_is_none(tmp_path, place):
    put(tmp_path, told("a", 1))
    (tmp_path / "list.jsonl").write_text("[]")
    assert line_at(Place(str(tmp_path), place.file, place.offset, place.length), "a") is None


def test_another_record_in_its_place_is_none(tmp_path):
    path = put(tmp_path, told("a", 1))
    place = Place(str(tmp_path), FIRST, 0, path.stat().st_size - 1)
    assert line_at(place, "b") is None
    assert line_at(place, "a") == told("a", 1)
