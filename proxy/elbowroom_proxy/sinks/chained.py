"""One process's files of records: each line in the chain, each batch followed by a signed head.

Knows: what files are called, when the next one begins, that a batch which could not be written whole is taken back, and
that other writers' heads are signed at the start, so that none of them can vanish unseen.
Does not know: queues, threads, what is in a record, or when a file is removed (`keeping`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import structlog

from elbowroom.account.chain import Chain, Head, sealed, signed
from elbowroom_proxy.sinks.locks import lock

HEADS = "heads"  # the folder of signed heads, one file a writer
MAX_BYTES = 64 << 20  # a file this long is followed by another
MAX_HEADS = 64  # of other writers, that a new one signs
_NAMED = re.compile(rb"\b([0-9a-f]{12}):[0-9]+:[0-9a-f]{64}:")
_HEAD_BYTES = 192  # a head and spaces: always the same length, so that it is written over in one piece

log = structlog.get_logger("elbowroom")


class Name(NamedTuple):
    """What a file's name says: `day-process-writer-number.jsonl`; before there were chains it named no writer."""

    day: str
    writer: str | None
    number: int


def named(path: Path) -> Name | None:
    """None where it is no file of records."""
    parts = path.stem.split("-")
    if path.suffix != ".jsonl" or len(parts) not in (5, 6) or not parts[-1].isdecimal():
        return None
    return Name("-".join(parts[:3]), parts[4] if len(parts) == 6 else None, int(parts[-1]))


class Chained:
    """The files of one writer in one folder. One thread at a time. Nothing is made before the first line."""

    def __init__(
        self, folder: Path, key: bytes, *, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        """`clock`: seconds since 1970."""
        self._clock = clock
        self._folder = folder
        self._key = key
        self._max_bytes = max_bytes
        self.lost = 0  # lines that were added and could not be written
        self._lines: list[bytes] = []
        self._file: int | None = None
        self._heads: int | None = None
        self._size = 0  # bytes of the file
        self._begin()

    @property
    def head(self) -> str:
        """The signed head of what is on disk."""
        return signed(self._key, self._kept)

    def add(self, day: str, body: bytes) -> None:
        """A record of that day, written with the next `flush`. Raises `OSError` where no file can be begun."""
        if self._file is None or day != self._day or self._size + self._pending >= self._max_bytes:
            self._next(day)
        self._lines.append(self._chain.link(body) + b"\n")
        self._pending += len(self._lines[-1])

    def flush(self, *, synced: bool = False) -> None:
        """Writes what waits and signs it. Raises `OSError`; then nothing that waited is in the chain."""
        if not self._lines or self._file is None:
            return
        data, lines = b"".join(self._lines), len(self._lines)
        self._lines, self._pending = [], 0
        try:
            self._begin_again_where_gone()
            _write(self._file, data)
            if synced:
                os.fsync(self._file)
        except OSError:
            self.lost += lines
            self._take_back()
            raise
        self._size += len(data)
        self._kept = self._chain.head
        self._sign()

    def sync(self) -> None:
        """What is written survives a power cut from here on."""
        for file in (self._file, self._heads):
            if file is not None:
                os.fsync(file)

    def leave(self) -> None:
        """Ends the current file. What cannot be synced is said and no reason to stop."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            os.fsync(file)
        except OSError as error:
            log.error("trace_file_not_synced", error=str(error))
        os.close(file)

    def close(self) -> None:
        """Ends all. A line may follow all the same; it begins another chain."""
        self.leave()
        if self._heads is not None:
            os.close(self._heads)
        self._begin()

    def _begin(self) -> None:
        self.writer = token_hex(6)
        self._chain = Chain(self._key, self.writer)
        self._kept = self._chain.head
        self._lines, self._pending = [], 0  # what waits, and its bytes
        self._file = self._heads = None
        self._day, self._size, self._number = "", 0, 0
        self._path = self._folder

    def _next(self, day: str) -> None:
        self.flush()
        self.leave()
        if self._heads is None:
            self._heads = self._first_head()
        self._path = self._folder / f"{day}-{os.getpid()}-{self.writer}-{self._number:04}.jsonl"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        lock(self._file)
        self._day, self._size, self._number = day, 0, self._number + 1

    def _begin_again_where_gone(self) -> None:
        """Another file where somebody removed this one, or the whole folder: what is written to it would be nowhere."""
        if self._heads is not None and not os.fstat(self._heads).st_nlink:
            os.close(self._heads)
            self._heads = None
        if self._heads is None or (self._file is not None and not os.fstat(self._file).st_nlink):
            log.error("trace_file_gone", folder=str(self._folder), writer=self.writer, lines=self._kept.n)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._next(self._day)

    def _first_head(self) -> int:
        """The file of this writer's heads: the head in front, then the heads of others as they are now, sealed."""
        folder = self._folder / HEADS
        folder.mkdir(mode=0o700, exist_ok=True)
        found = others(folder)
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        told = sealed(self._key, {"writer": self.writer, "time": now, "heads": found})
        new = folder / f".{self.writer}"  # under its name it is there whole
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _write(file, self._front(self._kept) + told + b"\n")
        new.rename(folder / self.writer)
        return file

    def _sign(self) -> None:
        if self._heads is not None:
            os.pwrite(self._heads, self._front(self._kept), 0)

    def _front(self, head: Head) -> bytes:
        return signed(self._key, head).encode().ljust(_HEAD_BYTES - 1) + b"\n"

    def _take_back(self) -> None:
        """The file ends where it ended before; where even that fails, this chain ends and another begins."""
        file = self._file
        self._chain.head = self._kept
        try:
            if file is not None:
                os.ftruncate(file, self._size)
        except OSError:
            self.close()
        else:
            self.leave()
            if not self._size:  # else a full disk would have one more empty file for each batch
                self._path.unlink(missing_ok=True)


def others(folder: Path, most: int = MAX_HEADS) -> list[str]:
    """The signed heads of the latest writers, as their files say them."""
    written: list[tuple[int, Path]] = []
    for path in heads_of(folder):
        with suppress(FileNotFoundError):  # another process tidies
            written.append((path.stat().st_mtime_ns, path))
    found: list[str] = []
    for _, path in sorted(written, reverse=True)[:most]:
        with suppress(FileNotFoundError):
            found.append(front_of(path))
    return found


def heads_of(folder: Path) -> list[Path]:
    """The files of heads in that folder, one a writer."""
    return [path for path in folder.glob("*") if not path.name.startswith(".")]


def front_of(path: Path) -> str:
    """The signed head that a file of heads begins with."""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES).decode("ascii", "replace").strip()


def writers_in(path: Path) -> set[str]:
    """Whom a file of heads names, its own writer included; nothing is proved."""
    return {path.name, *(name.decode() for name in _NAMED.findall(path.read_bytes()))}


def lines_of(path: Path) -> Iterable[bytes]:
    """The lines of a file, without their line feeds; what follows the last line feed is torn, and comes with none."""
    with path.open("rb") as file:
        yield from file


def _write(file: int, data: bytes) -> None:
    """All of it; a disk that is nearly full takes a part first."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
