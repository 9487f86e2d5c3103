"""Records of requests in files that only grow: one JSON object a line, one file a process, a day and a size.

Knows: what the files are called, when the next one begins, and that a response never waits for a disk.
Does not know: what is in a record beyond its `time`, or how records are searched (`read`).
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import structlog

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.sinks.line import encode

MAX_QUEUE = 1024  # records that wait for the disk
MAX_BYTES = 64 << 20  # a file this long is followed by another

log = structlog.get_logger("elbowroom")


class JsonlSink:
    """The sink. Its one thread does the encoding and all writing; `lost` counts records that a disk refused."""

    def __init__(self, folder: Path, *, max_queue: int = MAX_QUEUE, max_bytes: int = MAX_BYTES) -> None:
        """Makes the folder, for its owner only. Raises `InvalidConfig` where it cannot."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidConfig(f"{folder}:1: traces cannot be kept here: {error.strerror}") from error
        self.lost = 0
        self._folder = folder
        self._max_bytes = max_bytes
        self._queue: queue.Queue[Mapping[str, Any] | None] = queue.Queue(max_queue)
        self._file: IO[bytes] | None = None
        self._day = ""
        self._thread = threading.Thread(target=self._run, name="elbowroom-traces", daemon=True)
        self._thread.start()

    def write(self, record: Mapping[str, Any]) -> bool:
        """Queues one record, which nobody changes afterwards; False where the queue is full."""
        try:
            self._queue.put_nowait(record)
        except queue.Full:
            return False
        return True

    async def close(self) -> None:
        """Everything queued is on disk when this returns. Idempotent; nothing may be written afterwards."""
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (record := self._queue.get()) is not None:
            try:
                self._append(record)
            except (OSError, LookupError, TypeError, ValueError) as error:
                self.lost += 1
                self._leave()
                log.error("trace_lost", error=str(error), trace_id=record.get("trace_id"))
        self._leave()

    def _append(self, record: Mapping[str, Any]) -> None:
        day = str(record["time"])[:10]
        line = encode(record) + b"\n"
        if self._file is None or day != self._day or self._file.tell() >= self._max_bytes:
            self._leave()
            self._file, self._day = _next_file(self._folder, day), day
        self._file.write(line)
        if self._queue.empty():
            self._file.flush()

    def _leave(self) -> None:
        """Ends the current file, if there is one; what it holds is on disk then."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            with file:
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            log.error("trace_file_not_synced", error=str(error))


def _next_file(folder: Path, day: str) -> IO[bytes]:
    """A new file that no other process has: in containers all processes may have the same number."""
    number = 0
    while True:
        path = folder / f"{day}-{os.getpid()}-{number:04}.jsonl"
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "ab")
        except FileExistsError:
            number += 1
