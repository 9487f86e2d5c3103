"""How long files stay: by age and by size, never one that is on hold; what goes leaves a signed word.

Knows: which files may go, that one process at a time removes them and not many at once, and what is left behind.
Does not know: how records are written (`chained`), or how the rest is proved (`verify`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec
import structlog

from elbowroom.account.chain import Head, Removed, follow, heads_in, parse, sealed, signed, start, unsealed
from elbowroom.account.row import SHADOW
from elbowroom_proxy.sinks.beside import CAPTURES, INSTRUCTIONS, POLICIES, put
from elbowroom_proxy.sinks.chained import HEADS, Name, front_of, heads_of, lines_of, named, writers_in
from elbowroom_proxy.sinks.line import decode
from elbowroom_proxy.sinks.locks import abandoned, lock
from elbowroom_proxy.sinks.read import backwards, day_of

REMOVED = "removed"  # signed words about files that went
OVER = ".over.json"  # what the name of such a word ends in, about a writer all of whose files went
HOLDS = "holds"  # one file a record that must stay
AT_ONCE = 100  # files that one pass removes
RECENT = 64  # files whose end is looked at when a writer starts

log = structlog.get_logger("elbowroom")


class Keeping:
    """The rules of one folder."""

    def __init__(self, folder: Path, key: bytes, *, days: int | None = None, size: int | None = None) -> None:
        """`days` and `size`, in bytes, of files of records; None: they stay."""
        self._folder = folder
        self._key = key
        self._days = days
        self._size = size

    def tidy(self, now: datetime) -> int:
        """Removes what is past its time, `AT_ONCE` files at most; how many. Another process may be at it: then none."""
        guard = os.open(self._folder / ".keeping", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not lock(guard):
                return 0
            held = holds(self._folder)
            done = self._expired(now.date(), set(held))
            for folder in self._chains():
                self._forget(folder, now)
                done += self._tidy(folder, now, {hold.file for hold in held.values()}, AT_ONCE - done)
            return done + self._unused(now, AT_ONCE - done)
        finally:
            os.close(guard)

    def recover(self, now: datetime) -> int:
        """Cuts off what a writer that died left half written, and leaves a signed word about each; how many."""
        done = 0
        for folder in self._chains():
            files = sorted(folder.glob("*.jsonl"), key=_changed, reverse=True)[:RECENT]
            done += sum(self._mended(path, now) for path in files)
        return done

    def _chains(self) -> Iterator[Path]:
        yield self._folder
        if (intents := self._folder / "intents").is_dir():
            yield intents

    def _tidy(self, folder: Path, now: datetime, held: set[str], most: int) -> int:
        files = sorted(folder.glob("*.jsonl"), key=lambda path: (path.name[:10], _changed(path)))
        oldest = (now.date() - timedelta(days=self._days)).isoformat() if self._days is not None else ""
        size, done = sum(path.stat().st_size for path in files), 0
        for path in files:
            why = "age" if path.name[:10] < oldest else "size" if self._size is not None and size > self._size else ""
            if not why or done >= most:
                break
            if path.name in held:
                continue
            length = path.stat().st_size
            if self._gone(path, why, now):
                size, done = size - length, done + 1
        return done

    def _gone(self, path: Path, why: str, now: datetime) -> bool:
        with abandoned(path) as file:
            if file is None:
                return False
            if (day := day_of(path)) not in (None, path.name[:10]):
                log.error("trace_file_misnamed", file=path.name, day=day)
                return False
            word = _word(path, why, now)
            if word is not None and not self._genuine(path):
                # By a line of somebody else's, a file could be made to look old; nothing is signed for him.
                log.error("trace_file_not_proved", file=path.name)
                word = None
            if word is not None:
                put(path.parent / REMOVED / f"{path.name}.json", sealed(self._key, msgspec.to_builtins(word)))
            path.unlink()
        log.info("trace_file_removed", file=path.name, why=why, lines=word.last - word.first + 1 if word else None)
        return True

    def _forget(self, folder: Path, now: datetime) -> None:
        """Of a writer whose files are all gone, one more signed word says how far it came, instead of a file of heads;
        when no head names it any longer, nothing is left of it.
        """
        if self._days is None and self._size is None:
            return
        old, theirs = (now - timedelta(days=1)).timestamp(), {name.writer for name in _names(folder)}
        for path in heads_of(folder / HEADS):
            if path.name not in theirs and path.stat().st_mtime < old:
                self._over(folder, path, now)
        known = theirs.union(*(writers_in(path) for path in heads_of(folder / HEADS)))
        for path in (folder / REMOVED).glob(f"*{OVER}"):
            told = unsealed(self._key, path.read_bytes())
            for head in heads_in(self._key, told["head"]) if told is not None else ():
                if head.writer not in known:
                    for word in (*(folder / REMOVED).glob(f"*-{head.writer}-*.json"), path):
                        word.unlink()

    def _over(self, folder: Path, path: Path, now: datetime) -> None:
        for head in heads_in(self._key, front_of(path)):
            words = (folder / REMOVED).glob(f"*-{head.writer}-*.jsonl.json")
            told = [word for one in words if (word := unsealed(self._key, one.read_bytes())) is not None]
            if head.writer == path.name and head.n <= max((word["last"] for word in told), default=0):
                over = {"head": signed(self._key, head), "why": "over", "time": now.isoformat(timespec="milliseconds")}
                put(folder / REMOVED / f"{head.writer}{OVER}", sealed(self._key, over))
                path.unlink()

    def _genuine(self, path: Path) -> bool:
        """Whether the last line is its writer's. Its time then says how old all are, its mac which."""
        lines = backwards(path)
        last, before = parse(next(lines, b"")), parse(next(lines, b""))
        if last is None:
            return False
        known = [before.head] if before is not None else self._ends(path.parent, last.head.writer)
        return any(follow(self._key, head, last.body) == last.head for head in known)

    def _ends(self, folder: Path, writer: str) -> Iterator[Head]:
        """The heads that a file of that writer may go on from."""
        yield start(self._key, writer)
        for word in (folder / REMOVED).glob(f"*-{writer}-*.jsonl.json"):
            if (told := unsealed(self._key, word.read_bytes())) is not None:
                yield Head(writer, told["last"], told["mac"])
        for path in folder.glob(f"*-{writer}-*.jsonl"):
            if (last := parse(next(backwards(path), b""))) is not None:
                yield last.head

    def _mended(self, path: Path, now: datetime) -> bool:
        with abandoned(path) as file:
            if file is None:
                return False
            size = os.fstat(file).st_size
            torn = size - _whole(file, size)
            if not torn:
                return False
            word = {"file": path.name, "bytes": torn, "why": "torn", "time": now.isoformat(timespec="milliseconds")}
            put(path.parent / REMOVED / f"{path.name}.torn.json", sealed(self._key, word))
            os.ftruncate(file, size - torn)
        log.warning("trace_torn_line", file=path.name, bytes=torn)
        return True

    def _expired(self, today: date, held: set[str]) -> int:
        """Captured texts whose last day is over."""
        done = 0
        for day in sorted((self._folder / CAPTURES).glob("*")):
            if day.name >= today.isoformat():
                break
            for path in [one for one in day.iterdir() if one.name not in held][: AT_ONCE - done]:
                path.unlink()
                done += 1
            if not any(day.iterdir()):
                day.rmdir()
        return done

    def _unused(self, now: datetime, most: int) -> int:
        """Policies and instructions that no record names any more: they are touched every day that one does."""
        if self._days is None or holds(self._folder):  # what a held record names stays as well
            return 0
        before = (now - timedelta(days=self._days + 1)).timestamp()
        files = [path for kind in (POLICIES, INSTRUCTIONS) for path in (self._folder / kind).glob("*")]
        old = [path for path in files if path.stat().st_mtime < before][: max(most, 0)]
        for path in old:
            path.unlink()
        return len(old)


class Hold(msgspec.Struct, frozen=True):
    """A record that must stay, and the file that it is in."""

    trace_id: str
    file: str
    reason: str
    time: str


def hold(folder: Path, trace_id: str, reason: str) -> Hold | None:
    """Keeps the record's file and its captured texts until `release`; None where no file has it."""
    file = _where(folder, trace_id)
    if file is None:
        return None
    kept = Hold(trace_id, file.name, reason, datetime.now(UTC).isoformat(timespec="milliseconds"))
    put(folder / HOLDS / trace_id, msgspec.json.encode(kept))
    return kept


def release(folder: Path, trace_id: str) -> bool:
    """Whether there was such a hold."""
    if trace_id not in holds(folder):
        return False
    (folder / HOLDS / trace_id).unlink()
    return True


def holds(folder: Path) -> dict[str, Hold]:
    """Every hold, by the record's trace id."""
    files = [path for path in (folder / HOLDS).glob("*") if not path.name.startswith(".")]
    found = [msgspec.json.decode(path.read_bytes(), type=Hold) for path in files]
    return {one.trace_id: one for one in found}


def erase(folder: Path, trace_id: str, key: bytes) -> bool:
    """Removes a record's captured texts and leaves a signed word; whether there were any."""
    found = [path for path in (folder / CAPTURES).glob("*/*") if path.name == trace_id]
    for path in found:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        word = {"trace_id": trace_id, "why": "erased", "time": time}
        put(folder / REMOVED / f"{trace_id}.json", sealed(key, word))
        path.unlink()
    return bool(found)


def _where(folder: Path, trace_id: str) -> Path | None:
    """The file that has the record, looked for from the latest on."""
    sought = f'"trace_id":"{trace_id}"'.encode()
    for path in sorted(folder.glob("*.jsonl"), key=_changed, reverse=True):
        for line in backwards(path):
            found = (decode(line) or {}) if sought in line else {}
            # What it would have become in shadow has the same id, and may be in the next file.
            if found.get("trace_id") == trace_id and found.get("kind") != SHADOW:
                return path
    return None


def _word(path: Path, why: str, now: datetime) -> Removed | None:
    """What is to be known of a file that goes; None where no line of it is in a chain."""
    name = named(path)
    first = next((found for line in lines_of(path) if (found := parse(line.rstrip(b"\n")))), None)
    last = next((found for line in backwards(path) if (found := parse(line))), None)
    if name is None or name.writer is None or first is None or last is None:
        return None
    return Removed(
        file=path.name, writer=last.head.writer, first=first.head.n, last=last.head.n, mac=last.head.mac,
        why=why, time=now.isoformat(timespec="milliseconds"),
    )  # fmt: skip


def _whole(file: int, size: int) -> int:
    """Bytes up to and with the last line feed."""
    at, block = size, 1 << 16
    while at > 0:
        start = max(0, at - block)
        found = os.pread(file, at - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def _names(folder: Path) -> Iterator[Name]:
    return (name for path in folder.glob("*.jsonl") if (name := named(path)) is not None)


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns
