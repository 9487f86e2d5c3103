"""The index in a SQLite file beside the records.

Knows: the tables, made from the fields of a row; that one process writes at a time while all may read; that a damaged
index, or one of an older version, is thrown away, since it can be made anew.
Does not know: how the files of records are read (`crawl`), or who may see what.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from elbowroom.account.row import Row, storable
from elbowroom.account.search import Filters, Indexed, Overview, Page, Scope
from elbowroom.errors import InvalidRequest
from elbowroom_proxy.indexes._questions import overview, where
from elbowroom_proxy.ports import Mark, Place

VERSION = 3  # of the tables; another row is another version
FILE = "index.sqlite"
PATIENCE = 5.0  # seconds that a reader waits where a writer is just finishing

_COLUMNS = Row.__struct_fields__
_ROW = ", ".join(_COLUMNS)
_DROPPED = _COLUMNS.index("dropped")  # the one that is no plain value
_PLACE = "folders.path, files.name, rows.offset, rows.length"
_FROM = "FROM rows JOIN files ON files.id = rows.file JOIN folders ON folders.id = files.folder"
# Most rows have no id of the client's and no conversation: what an index says of them is not asked for.
_TABLES = f"""
CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name TEXT NOT NULL, inode INTEGER NOT NULL,
    done INTEGER NOT NULL, unread INTEGER NOT NULL DEFAULT 0, UNIQUE (folder, name)
);
CREATE TABLE rows (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, offset INTEGER, length INTEGER, {_ROW});
CREATE TABLE drops (row INTEGER NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (row, reason))
    WITHOUT ROWID;
CREATE INDEX drops_by_reason ON drops (reason, row);
CREATE INDEX rows_by_file ON rows (file);
CREATE INDEX rows_by_time ON rows (kind, at, id);
CREATE INDEX rows_by_tenant ON rows (tenant, kind, at, id) WHERE tenant IS NOT NULL;
CREATE INDEX rows_by_trace ON rows (trace_id);
CREATE INDEX rows_by_request ON rows (request_id);
CREATE INDEX rows_by_client ON rows (client_request_id) WHERE client_request_id IS NOT NULL;
CREATE INDEX rows_by_conversation ON rows (conversation_id) WHERE conversation_id IS NOT NULL;
"""


def build(folder: Path) -> SqliteIndex:
    """The index of that folder's records."""
    return SqliteIndex(folder)


class SqliteIndex:
    """One file. Each call opens a connection of its own, so any thread may call."""

    def __init__(self, folder: Path, *, apart: bool = False) -> None:
        """The index of that folder's records, kept in it; where nothing can be written there, or `apart`, in a file
        that is gone when this one is closed. Raises `OSError` where neither is possible.
        """
        self._own = str(folder.absolute())
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._file = folder / FILE
        if not apart:
            with suppress(OSError, _Newer):
                self._anchor = self._opened()
                return
        self._temporary = tempfile.TemporaryDirectory(prefix="elbowroom-")
        self._file = Path(self._temporary.name) / FILE
        self._anchor = self._opened()

    # --- writing ------------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[_Writing | None]:
        """One transaction: what happens in it is there afterwards, all or nothing."""
        with self._connected(timeout=0) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                yield None
                return
            try:
                yield _Writing(db)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def cover(self, folders: Sequence[str]) -> None:
        """Waits for whoever is writing."""
        wanted = list(dict.fromkeys([self._own, *folders]))
        with self._connected() as db:
            db.execute("BEGIN IMMEDIATE")
            for folder in _folders(db):
                if folder not in wanted:
                    _Writing(db).forget(folder)
                    db.execute("DELETE FROM folders WHERE path = ?", (folder,))
            db.executemany("INSERT OR IGNORE INTO folders (path) VALUES (?)", [(folder,) for folder in wanted])
            db.execute("COMMIT")

    def close(self) -> None:
        """Idempotent."""
        self._anchor.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    # --- reading ------------------------------------------------------------------------------------------------------

    def folders(self) -> tuple[str, ...]:
        with self._connected() as db:
            return _folders(db)

    def marks(self) -> dict[str, dict[str, Mark]]:
        with self._connected() as db:
            return _marks(db)

    def page(self, filters: Filters, scope: Scope, *, after: str | None = None, most: int = 50) -> Page:
        holds, values = where(filters, scope)
        if after is not None:
            if not (at := re.fullmatch(r"(-?\d{1,18})-(\d{1,18})", after, re.ASCII)):
                raise InvalidRequest("That is no page's `after`.", param="after")
            holds, values = f"{holds} AND (at, rows.id) < (?, ?)", [*values, int(at[1]), int(at[2])]
        with self._connected() as db:
            found = db.execute(
                f"SELECT rows.id, {_ROW} FROM rows WHERE {holds} ORDER BY at DESC, rows.id DESC LIMIT ?",
                [*values, most + 1],
            ).fetchall()
            rows = tuple(_row(one[1:]) for one in found[:most])
            last = f"{rows[-1].at}-{found[most - 1][0]}" if len(found) > most else None
            return Page(rows, last, _indexed(db, scope))

    def find(self, ident: str, scope: Scope) -> tuple[Row, Place] | None:
        return next(self.each(Filters(id=storable(ident)), scope), None)

    def each(self, filters: Filters, scope: Scope) -> Iterator[tuple[Row, Place]]:
        holds, values = where(filters, scope)
        with self._connected() as db:
            for one in db.execute(
                f"SELECT {_PLACE}, {_ROW} {_FROM} WHERE {holds} ORDER BY at DESC, rows.id DESC", values
            ):
                yield _row(one[4:]), Place(*one[:4])

    def count(self, filters: Filters, scope: Scope) -> int:
        holds, values = where(filters, scope)
        with self._connected() as db:
            return int(db.execute(f"SELECT count(*) FROM rows WHERE {holds}", values).fetchone()[0])

    def indexed(self, scope: Scope) -> Indexed:
        with self._connected() as db:
            return _indexed(db, scope)

    def overview(self, filters: Filters, scope: Scope) -> Overview:
        with self._connected() as db:
            return overview(lambda sql, values: db.execute(sql, values).fetchall(), filters, scope, _indexed(db, scope))

    # --- the file -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _connected(self, timeout: float = PATIENCE) -> Iterator[sqlite3.Connection]:
        """A connection for one thing. Whatever SQLite cannot do is an `OSError`; a damaged file is made anew first."""
        try:
            with closing(self._connect(timeout)) as db:
                yield db
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                self._anchor.close()
                self._remove()
                self._anchor = self._opened()
            elif code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_ERROR):  # it is gone, or was made empty
                self._anchor.close()
                self._anchor = self._opened()
            raise OSError(f"{self._file}: {error}") from error

    def _connect(self, timeout: float) -> sqlite3.Connection:
        # Never made by the way: it would be everybody's to read, and empty.
        file = f"{self._file.absolute().as_uri()}?mode=rw"
        db = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False, uri=True)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA temp_store = MEMORY")
        return db

    def _opened(self) -> sqlite3.Connection:
        """A connection that stays, so that SQLite does not fold its journal away after every call."""
        try:
            # Only its owner may read it, from the moment it is there; SQLite's other files take its mode.
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
            try:
                return self._prepared()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                self._remove()
                os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))
                return self._prepared()
        except sqlite3.Error as error:
            raise OSError(f"{self._file}: {error}") from error

    def _prepared(self) -> sqlite3.Connection:
        db = self._connect(PATIENCE)
        try:
            found = _version(db)
            if found > VERSION:
                raise _Newer
            db.execute("PRAGMA journal_mode = WAL")
            if found == VERSION and self._own in _folders(db):
                return db
            db.execute("BEGIN IMMEDIATE")
            found = _version(db)
            if found < VERSION:
                # Which folders it was an index of is all that the files do not say.
                folders = _folders(db) if found else ()
                for table in ("drops", "rows", "files", "folders"):
                    db.execute(f"DROP TABLE IF EXISTS {table}")
                for statement in filter(None, map(str.strip, _TABLES.split(";"))):
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
                db.executemany("INSERT INTO folders (path) VALUES (?)", [(folder,) for folder in folders])
            db.execute("INSERT OR IGNORE INTO folders (path) VALUES (?)", (self._own,))
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _remove(self) -> None:
        for name in (self._file, *(self._file.with_name(FILE + more) for more in ("-wal", "-shm"))):
            with suppress(FileNotFoundError):
                name.unlink()


class _Newer(Exception):
    """The file is one of a later version of the tables, whose process may be running still."""


class _Writing:
    """Inside of one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def marks(self) -> dict[str, dict[str, Mark]]:
        return _marks(self._db)

    def add(self, rows: Sequence[tuple[Row, Place]]) -> None:
        db = self._db
        number = db.execute("SELECT ifnull(max(id), 0) FROM rows").fetchone()[0]
        files = {(path, name): ident for path, name, ident in db.execute(
            "SELECT folders.path, files.name, files.id FROM files JOIN folders ON folders.id = files.folder"
        )}  # fmt: skip
        numbered = list(enumerate(rows, start=number + 1))
        db.executemany(
            f"INSERT INTO rows (id, file, offset, length, {_ROW}) VALUES (?, ?, ?, ?{', ?' * len(_COLUMNS)})",
            [
                (number, files[place.folder, place.file], place.offset, place.length, *_values(row))
                for number, (row, place) in numbered
            ],
        )
        db.executemany(
            "INSERT INTO drops VALUES (?, ?, ?)",
            [(number, reason, n) for number, (row, _) in numbered for reason, n in row.dropped.items()],
        )

    def mark(self, folder: str, file: str, mark: Mark, unread: int = 0) -> None:
        self._db.execute(
            "INSERT INTO files (folder, name, inode, done, unread)"
            " VALUES ((SELECT id FROM folders WHERE path = ?), ?, ?, ?, ?) ON CONFLICT (folder, name)"
            " DO UPDATE SET inode = excluded.inode, done = excluded.done, unread = unread + excluded.unread",
            (folder, file, mark.file, mark.offset, unread),
        )

    def forget(self, folder: str, file: str | None = None) -> None:
        of = (
            "SELECT files.id FROM files JOIN folders ON folders.id = files.folder"
            " WHERE path = ? AND ifnull(?, name) = name"
        )
        values = (folder, file)
        self._db.execute(f"DELETE FROM drops WHERE row IN (SELECT id FROM rows WHERE file IN ({of}))", values)
        self._db.execute(f"DELETE FROM rows WHERE file IN ({of})", values)
        self._db.execute(f"DELETE FROM files WHERE id IN ({of})", values)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _folders(db: sqlite3.Connection) -> tuple[str, ...]:
    return tuple(path for (path,) in db.execute("SELECT path FROM folders ORDER BY id"))


def _marks(db: sqlite3.Connection) -> dict[str, dict[str, Mark]]:
    found: dict[str, dict[str, Mark]] = {folder: {} for folder in _folders(db)}
    for folder, name, inode, done in db.execute(
        "SELECT path, name, inode, done FROM files JOIN folders ON folders.id = files.folder"
    ):
        found[folder][name] = Mark(inode, done)
    return found


def _values(row: Row) -> list[Any]:
    """As SQLite keeps them."""
    values: list[Any] = list(structs.astuple(row))
    values[_DROPPED] = json.dumps(row.dropped)
    return values


def _row(values: Sequence[Any]) -> Row:
    found = dict(zip(_COLUMNS, values, strict=True))
    found["dropped"] = json.loads(found["dropped"])
    return msgspec.convert(found, Row, strict=False)


def _indexed(db: sqlite3.Connection, scope: Scope) -> Indexed:
    holds, values = where(Filters(), scope)
    (records,) = db.execute(f"SELECT count(*) FROM rows WHERE {holds}", values).fetchone()
    latest = db.execute(
        f"SELECT time FROM rows WHERE {holds} ORDER BY at DESC, rows.id DESC LIMIT 1", values
    ).fetchone()
    indexed = Indexed(until=latest[0] if latest else None, records=records)
    if scope != Scope():
        return indexed
    (unread,) = db.execute("SELECT ifnull(sum(unread), 0) FROM files").fetchone()
    return structs.replace(indexed, unread=unread, folders=_folders(db))
