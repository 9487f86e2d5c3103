"""What only a file has: a mode, damage, versions, folders that nobody may write to."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing

import pytest

from elbowroom.account.search import Filters, Scope
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.indexes import sqlite
from elbowroom_proxy.indexes._questions import where
from elbowroom_proxy.indexes.sqlite import FILE, VERSION, SqliteIndex, build
from tests.records import put, told


def found(index) -> str:
    Crawl(index).finish()
    return "".join(row.trace_id for row in index.page(Filters(), Scope()).rows)


@pytest.fixture
def folder(tmp_path):
    put(tmp_path, told("a", 8), told("b", 9))
    return tmp_path


def test_nobody_but_its_owner_may_read_it(folder):
    index = build(folder)
    found(index)
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.glob(f"{FILE}*")} == {
        FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600,
    }  # fmt: skip
    index.close()
    index.close()


def test_what_was_indexed_is_still_there_the_next_time(folder):
    first = build(folder)
    found(first)
    first.close()
    second = build(folder)
    assert [row.trace_id for row in second.page(Filters(), Scope()).rows] == ["b", "a"]
    second.close()


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_made_anew(folder, damage):
    (folder / FILE).write_bytes(damage)
    index = build(folder)
    assert found(index) == "ba"
    index.close()


def test_one_that_is_damaged_while_it_is_used_is_made_anew_after_an_error(folder):
    index = build(folder)
    found(index)
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (folder / FILE).open("r+b") as file:
        file.write(b"\xff" * 200)
    with pytest.raises(OSError, match=FILE):
        index.page(Filters(), Scope())
    assert found(index) == "ba"
    index.close()


@pytest.mark.parametrize("more", ["", "-wal", "emptied"])
def test_one_that_is_deleted_while_it_is_used_is_made_anew_after_an_error(folder, more):
    index = build(folder)
    assert found(index) == "ba"
    if more == "emptied":
        os.truncate(folder / FILE, 0)
        (folder / f"{FILE}-wal").unlink()
    else:
        (folder / FILE).unlink()
        (folder / f"{FILE}{more}").unlink(missing_ok=True)
    with pytest.raises(OSError, match=FILE):
        index.page(Filters(), Scope())
    assert found(index) == "ba"
    assert (folder / FILE).stat().st_mode & 0o77 == 0
    index.close()


def test_an_older_version_is_thrown_away_but_for_its_folders(folder, tmp_path_factory, monkeypatch):
    other = tmp_path_factory.mktemp("other")
    put(other, told("z", 10))
    index = build(folder)
    index.cover([str(other)])
    index.close()
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("ALTER TABLE rows DROP COLUMN finish_reason")
    monkeypatch.setattr(sqlite, "VERSION", VERSION + 1)
    index = build(folder)
    assert found(index) == "zba"
    index.close()


def test_one_of_a_later_version_is_left_alone(folder):
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = (folder / FILE).read_bytes()
    index = build(folder)
    assert found(index) == "ba"
    index.close()
    assert (folder / FILE).read_bytes() == before
    assert [path.name for path in folder.iterdir() if path.suffix == ".sqlite"] == [FILE]


def test_where_nothing_can_be_written_it_is_elsewhere_for_a_while(folder):
    # Root may write anywhere but not into a file.
    index = SqliteIndex(folder / "2026-03-01-1-0000.jsonl")
    elsewhere = index._file
    assert elsewhere.is_file()
    index.close()
    assert not elsewhere.exists()


def test_no_folder_no_records(tmp_path):
    index = build(tmp_path / "none")
    assert found(index) == ""
    index.close()
    assert not (tmp_path / "none").exists()


def test_what_the_database_cannot_do_is_an_error_of_the_disk(folder):
    index = build(folder)
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute("DROP TABLE drops")
    with pytest.raises(OSError, match="no such table"):
        found(index)
    index.close()


def test_an_index_that_cannot_be_anywhere_is_an_error(folder, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(folder / "2026-03-01-1-0000.jsonl"))
    with pytest.raises(OSError):
        SqliteIndex(folder / "none")


@pytest.mark.parametrize(
    ("sought", "by"),
    [
        (Filters(conversation="c"), {"rows_by_conversation"}),
        (Filters(id="x"), {"rows_by_trace", "rows_by_request", "rows_by_client"}),
        (Filters(tenant="t"), {"rows_by_tenant"}),
    ],
)
def test_what_only_some_rows_have_is_found_by_its_index(folder, sought, by):
    build(folder).close()
    holds, values = where(sought, Scope())
    with closing(sqlite3.connect(folder / FILE)) as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN SELECT id FROM rows WHERE {holds}", values).fetchall()
    assert by <= {word for *_, step in plan for word in step.split()}
