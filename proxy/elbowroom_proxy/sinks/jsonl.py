"""Records of requests in files that only grow: one JSON object a line, each line in its writer's chain.

Knows: that a response never waits for a disk, that what waits is bounded, and when the head of the chain is said in the
log and the folder tidied.
Does not know: what is in a record beyond its `time`, what files are called (`chained`), or how records are searched
(`read`).
"""

from __future__ import annotations

import asyncio
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import structlog

from elbowroom.errors import InvalidConfig, TraceUnavailable
from elbowroom_proxy.ports import Texts
from elbowroom_proxy.sinks.beside import Beside
from elbowroom_proxy.sinks.chained import MAX_BYTES, Chained
from elbowroom_proxy.sinks.keeping import Keeping
from elbowroom_proxy.sinks.line import encode

MAX_QUEUE = 1024  # records that wait for the disk
MAX_TEXTS = 64 << 20  # bytes of texts that wait with them
BATCH = 256  # records that are signed together
GATHER = 0.05  # seconds that a record waits for others: to wake a thread costs more than to write a line
MINUTE = 60.0  # seconds between two heads in the log
TIDY = 10  # minutes between two looks at what is past its time
INTENTS = "intents"  # the folder of what is said before a request leaves, a chain of its own
PATIENCE = 5.0  # seconds that an intent may take
PROBE = 1.0  # seconds that the disk has to show that it takes something
UNRECORDED = "This request cannot be recorded at the moment, so it is not sent."

log = structlog.get_logger("elbowroom")


class _Record(NamedTuple):
    value: Mapping[str, Any]
    texts: Texts | None


class _Intent(NamedTuple):
    value: Mapping[str, Any]
    said: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


_Item = _Record | _Intent | None  # None: the end


class JsonlSink:
    """The sink. Its one thread does the encoding, all writing and all tidying; `lost` counts what a disk refused."""

    def __init__(
        self,
        folder: Path,
        key: bytes,
        *,
        beside: Beside | None = None,
        keeping: Keeping | None = None,
        max_queue: int = MAX_QUEUE,
        max_bytes: int = MAX_BYTES,
        minute: float = MINUTE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Makes the folder, for its owner only. `key` is the chain's. `clock`: seconds since 1970. Raises
        `InvalidConfig` where it cannot.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidConfig(f"{folder}:1: traces cannot be kept here: {error.strerror}") from error
        self.texts_lost = 0
        self._lost = 0
        self._folder = folder
        self._records = Chained(folder, key, max_bytes=max_bytes, clock=clock)
        self._intents = Chained(folder / INTENTS, key, max_bytes=max_bytes, clock=clock)
        self._beside = beside
        self._keeping = keeping
        self._minute = minute
        self._clock = clock
        self._said = [chain.head for chain in self._chains]
        self._texts = 0  # bytes that wait
        self._probe: asyncio.Future[bool] | None = None
        self._guard = threading.Lock()  # of the number above
        self._queue: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._most = max_queue
        self._hurry = threading.Event()  # somebody waits for what is queued
        self._thread = threading.Thread(target=self._run, name="elbowroom-traces", daemon=True)
        self._thread.start()

    @property
    def _chains(self) -> tuple[Chained, Chained]:
        return self._records, self._intents

    @property
    def lost(self) -> int:
        """Records that nobody could write down."""
        return self._lost + self._records.lost

    @property
    def waiting(self) -> int:
        """Records in the queue, roughly."""
        return self._queue.qsize()

    @property
    def _full(self) -> bool:
        return self._queue.qsize() >= self._most

    def write(self, record: Mapping[str, Any], texts: Texts | None = None) -> bool:
        """Queues one record, which nobody changes afterwards; False where the queue is full. Captured texts that find
        too much waiting are left out, and the record says so.
        """
        size = texts.size if texts is not None else 0
        if texts is not None and self._texts + size > MAX_TEXTS:
            self.texts_lost += 1
            record, texts, size = {**record, "captured": None}, None, 0
        if self._full:
            return False
        self._queue.put(_Record(record, texts))
        with self._guard:
            self._texts += size
        return True

    async def intend(self, intent: Mapping[str, Any]) -> None:
        """On the disk, and synced, when it returns. Raises `TraceUnavailable` where that cannot be or takes long."""
        if self._full:
            raise TraceUnavailable(UNRECORDED)
        loop = asyncio.get_running_loop()
        said: asyncio.Future[None] = loop.create_future()
        try:
            self._queue.put(_Intent(intent, said, loop))
            self._hurry.set()
            await asyncio.wait_for(said, PATIENCE)
        except (OSError, TimeoutError) as error:
            raise TraceUnavailable(UNRECORDED) from error

    async def healthy(self) -> bool:
        """Whether a record would be kept now. While a disk does not answer, it is not asked a second time."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(asyncio.to_thread(self._takes))
        probe = self._probe
        await asyncio.wait((probe,), timeout=PROBE)
        return probe.done() and probe.result() and not self._full

    def _takes(self) -> bool:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                file.write(b"\n")
        except OSError:
            return False
        return True

    async def close(self) -> None:
        """Everything queued is on disk when this returns. Idempotent; nothing may be written afterwards."""
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._hurry.set()
            self._thread.join()

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        minutes, look = 0, monotonic() + self._minute
        self._tidy(first=True)
        ended = False
        while not ended:
            batch = self._taken(look - monotonic())
            self._put_down([item for item in batch if item is not None])
            ended = None in batch
            if monotonic() >= look:
                minutes, look = minutes + 1, monotonic() + self._minute
                self._say_heads()
                if minutes % TIDY == 0:
                    self._tidy()
        self._say_heads()
        for chain in self._chains:
            chain.close()

    def _taken(self, seconds: float) -> list[_Item]:
        """What waits; nothing, where nothing comes for so long."""
        batch: list[_Item] = []
        try:
            batch.append(self._queue.get(timeout=max(seconds, 0)))
            if batch[0] is not None and self._queue.qsize() < BATCH:
                self._hurry.wait(GATHER)
            self._hurry.clear()
            while len(batch) < BATCH:
                batch.append(self._queue.get_nowait())
        except queue.Empty:
            pass  # that is all
        return batch

    def _put_down(self, batch: Iterable[_Record | _Intent]) -> None:
        records = [item for item in batch if isinstance(item, _Record)]
        for item in records:
            self._add(item)
        try:
            self._records.flush()
        except OSError as error:
            self._say_lost(error, records[-1].value)
        intents = [item for item in batch if isinstance(item, _Intent)]
        if intents:
            self._promise(intents)

    def _add(self, item: _Record) -> None:
        record, texts, day = item.value, item.texts, ""
        try:
            day = str(record["time"])[:10]
            self._records.add(day, encode(record))
        except (OSError, LookupError, TypeError, ValueError) as error:
            self._lost += 1
            self._say_lost(error, record)
            texts = None
        if item.texts is not None:
            with self._guard:
                self._texts -= item.texts.size
        if texts is None or self._beside is None:
            return
        try:
            self._beside.keep(texts, day)
        except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
            self.texts_lost += 1
            log.error("trace_texts_lost", error=str(error), trace_id=record.get("trace_id"))

    def _promise(self, intents: Iterable[_Intent]) -> None:
        """Says all of them, or none: one sync for all."""
        fault: OSError | None = None
        try:
            (self._folder / INTENTS).mkdir(mode=0o700, exist_ok=True)
            for one in intents:
                self._intents.add(str(one.value["time"])[:10], encode(one.value))
            self._intents.flush(synced=True)
        except OSError as error:
            fault = error
            log.error("intents_lost", error=str(error))
        for one in intents:
            with suppress(RuntimeError):  # its loop has ended, and whoever waited with it
                one.loop.call_soon_threadsafe(_answer, one.said, fault)

    def _say_lost(self, error: Exception, record: Mapping[str, Any]) -> None:
        log.error("trace_lost", error=str(error), trace_id=record.get("trace_id"), lost=self.lost)

    def _say_heads(self) -> None:
        """In the log, where nobody who holds the folder can reach them; what they speak for is on the disk before."""
        said, self._said = self._said, [chain.head for chain in self._chains]
        for chain, before in zip(self._chains, said, strict=True):
            if chain.head == before:
                continue
            try:
                chain.sync()
            except OSError as error:
                log.error("trace_file_not_synced", error=str(error))
            log.info("trace_head", head=chain.head)

    def _tidy(self, *, first: bool = False) -> None:
        if self._keeping is None:
            return
        try:
            now = datetime.fromtimestamp(self._clock(), UTC)
            if first:
                self._keeping.recover(now)
            self._keeping.tidy(now)
        except (OSError, ValueError) as error:
            log.error("traces_not_tidied", error=str(error))


def _answer(said: asyncio.Future[None], fault: OSError | None) -> None:
    """In the loop that waits for it, if it still does."""
    if said.done():
        return
    if fault is None:
        said.set_result(None)
    else:
        said.set_exception(fault)
