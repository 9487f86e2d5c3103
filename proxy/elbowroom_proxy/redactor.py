"""Searches texts for what must not leave, off the loop's thread and within a deadline.

Knows: what was found in texts before, and that a text which was not searched in time, or whose search broke, has no
answer: the engine sends nothing of it.
Does not know: the rules, what is done about a finding, or whose text it is. No text reaches a log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import structlog

from elbowroom.clean.find import PACKS, Overrun, find
from elbowroom.clean.found import Findings, Found
from elbowroom.needs import Answer, NeedRedaction

MEMORY = 32 << 20  # bytes of texts whose findings are kept

log = structlog.get_logger("elbowroom")

Find = Callable[[str, tuple[str, ...], Callable[[], bool]], Findings]


class Redactor:
    """Answers `NeedRedaction`. The public integers only ever grow."""

    def __init__(self, *, memory_bytes: int = MEMORY, workers: int = 2, search: Find = find) -> None:
        self._found = Found(memory_bytes)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="elbowroom-redaction")
        self._find = search
        self.remembered = 0  # texts
        self.searched = 0
        self.failed = 0

    async def start(self) -> None:
        """Compiles the rules, which the first request would have to wait for."""
        await asyncio.get_running_loop().run_in_executor(self._threads, find, "", tuple(PACKS))

    async def answer(self, need: NeedRedaction) -> Answer:
        """What each text holds; None for those that could not be searched."""
        known = [self._found.get(need.packs, text) for text in need.texts]
        new = list(dict.fromkeys(text for text, one in zip(need.texts, known, strict=True) if one is None))
        self.remembered += sum(one is not None for one in known)
        if not new:
            return tuple(known)
        seconds = need.deadline_ms / 1000
        made: dict[str, Findings] = {}
        search = asyncio.get_running_loop().run_in_executor(
            self._threads, self._search, new, need.packs, perf_counter() + seconds, made
        )
        await asyncio.wait([search], timeout=seconds)
        in_time = dict(made)  # the thread may still be at work
        for text, findings in in_time.items():
            self._found.put(need.packs, text, findings)
        self.searched += len(in_time)
        if len(in_time) < len(new):
            self.failed += len(new) - len(in_time)
            log.warning("redaction", searched=len(in_time), not_searched=len(new) - len(in_time))
        return tuple(
            in_time.get(text) if findings is None else findings
            for text, findings in zip(need.texts, known, strict=True)
        )

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _search(self, texts: Sequence[str], packs: tuple[str, ...], deadline: float, made: dict[str, Findings]) -> None:
        def late() -> bool:
            return perf_counter() > deadline

        for text in texts:
            if late():
                return
            try:
                made[text] = self._find(text, packs, late)
            except Overrun:
                return
            except Exception as error:  # noqa: BLE001 -- whatever broke, the text is not sent; its words are not logged
                log.error("redaction", error=type(error).__name__)
