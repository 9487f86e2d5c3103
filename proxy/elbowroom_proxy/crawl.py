"""Files of records read forward, a piece at a time, so that an index knows what they say.

Knows: that files only grow, that one may vanish or be another under the same name, and that a last line may be torn.
Does not know: what a row is made of, or how an index keeps it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import structlog
from msgspec import Struct, structs

from elbowroom.account.convert import convert
from elbowroom.account.row import Row, Unread, row
from elbowroom.account.search import Indexed
from elbowroom_proxy.ports import Mark, Place, TraceIndex, Writing

PIECE = 1 << 20  # bytes of a file that are read at once
STEP = 4 << 20  # bytes between which others may write, and a service gets the processor back
EVERY = 0.5  # seconds between looks at the folders
REST = 0.02  # seconds between steps, while there is more to read; at least as long as the step took

log = structlog.get_logger("elbowroom")


class _File(Struct, frozen=True):
    """A file of records as it lies there."""

    folder: str
    name: str
    inode: int
    size: int


class Crawl:
    """One index's reader of files. Not to be used by two threads at once, except for `indexed`."""

    def __init__(self, index: TraceIndex, clock: Callable[[], float] = monotonic) -> None:
        self._index = index
        self._clock = clock
        self._torn: dict[tuple[str, str, int], int] = {}  # file -> its size when what followed its last line was none
        self._level = clock()  # when nothing was behind

    def step(self) -> bool:
        """Reads at most about `STEP` bytes; True where there is more. Raises `OSError`."""
        if not self._behind():
            self._level = self._clock()
            return False
        with self._index.writing() as writing:
            if writing is None:
                return False  # whoever writes reads the same files
            left = STEP
            for folder, marks in writing.marks().items():
                left = self._folder(writing, folder, dict(marks), left)
        return left <= 0

    def finish(self) -> None:
        """Reads all there is, if nobody else does."""
        while self.step():
            pass

    def again(self) -> bool:
        """Forgets everything, so that the next steps read all files; False where somebody else is writing."""
        with self._index.writing() as writing:
            if writing is None:
                return False
            for folder in writing.marks():
                writing.forget(folder)
        return True

    def indexed(self, indexed: Indexed) -> Indexed:
        """The same with what is on disk and not in the index."""
        behind = sum(size for size, _ in self._behind())
        return structs.replace(indexed, behind=behind, lag=round(self._clock() - self._level, 3) if behind else 0.0)

    def _behind(self) -> list[tuple[int, _File | None]]:
        """Bytes that are to be read, by file; 0 of a file that is gone, and is still in the index."""
        found: list[tuple[int, _File | None]] = []
        for folder, known in self._index.marks().items():
            marks = dict(known)
            for file in _files(folder):
                todo = self._todo(file, marks.pop(file.name, None))
                if todo is not None:
                    found.append((file.size - todo.offset, file))
            found += [(0, None) for _ in marks]
        return found

    def _todo(self, file: _File, mark: Mark | None) -> Mark | None:
        """From where it is to be read; None where there is nothing new."""
        if mark is None or mark.file != file.inode or mark.offset > file.size:
            mark = Mark(file.inode, 0)
        known = max(mark.offset, self._torn.get((file.folder, file.name, file.inode), 0))
        return mark if file.size > known else None

    def _folder(self, writing: Writing, folder: str, marks: dict[str, Mark], left: int) -> int:
        """What is left of `left` bytes when all of the folder, or so many bytes, are read."""
        for file in _files(folder):
            mark = marks.pop(file.name, None)
            todo = self._todo(file, mark)
            if todo is None or left <= 0:
                continue
            if mark is not None and todo.offset < mark.offset:
                writing.forget(folder, file.name)
            left -= self._file(writing, file, todo, left)
        for name in marks:
            writing.forget(folder, name)
        return left

    def _file(self, writing: Writing, file: _File, mark: Mark, most: int) -> int:
        """How many bytes were read."""
        begin = offset = mark.offset
        for lines, end in _pieces(file, begin):
            rows: list[tuple[Row, Place]] = []
            unread = 0
            for line in lines:
                try:
                    found = row(line)
                except Unread:
                    unread += 1
                else:
                    if found is not None:
                        rows.append((found, Place(file.folder, file.name, offset, len(line))))
                offset += len(line) + 1
            writing.mark(file.folder, file.name, Mark(file.inode, end), unread)
            writing.add(rows)
            if end - begin >= most:
                return end - begin
        if offset < file.size:
            self._torn[file.folder, file.name, file.inode] = file.size
        return offset - begin


class Indexer:
    """A thread that keeps an index current while a service runs."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="elbowroom-index", daemon=True)
        self._failed = ""

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns when the thread has ended. Idempotent; also for one that was never started."""
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        more, took = True, 0.0
        while not self._enough.wait(max(REST, took) if more else EVERY):
            begin = monotonic()
            try:
                more = self._crawl.step()
                self._failed = ""
            except OSError as error:
                more = False
                # Once for each new trouble: it will be there in half a second again.
                if str(error) != self._failed:
                    self._failed = str(error)
                    log.error("index_behind", error=self._failed)
            took = monotonic() - begin


def line_at(place: Place, trace_id: str) -> dict[str, Any] | None:
    """The record that lies there, in the present version; None where it does no longer, or is another. Raises `OSError`
    for a failing disk.
    """
    try:
        with (Path(place.folder) / place.file).open("rb") as file:
            file.seek(place.offset)
            record = json.loads(file.read(place.length))
    except (FileNotFoundError, ValueError):
        return None
    return convert(record) if isinstance(record, dict) and record.get("trace_id") == trace_id else None


def _files(folder: str) -> list[_File]:
    """The newest first, so that they can be found first. No folder, no files."""
    found = []
    for path in Path(folder).glob("*.jsonl"):
        with suppress(FileNotFoundError):
            stat = path.stat()
            found.append(_File(folder, path.name, stat.st_ino, stat.st_size))
    return sorted(found, key=lambda file: file.name, reverse=True)


def _pieces(file: _File, begin: int) -> Iterator[tuple[list[bytes], int]]:
    """Whole lines from there on, without their line feeds, and where the last of them ends."""
    with (Path(file.folder) / file.name).open("rb") as opened:
        opened.seek(begin)
        rest = b""
        while data := opened.read(PIECE):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            if lines:
                begin += sum(map(len, lines)) + len(lines)
                yield lines, begin
