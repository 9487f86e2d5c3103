"""The kill switch: whether every request is served with the baseline, as of a moment ago.

Knows: that any source suffices; that one which says nothing, or cannot be reached, keeps its last word; how often each
is asked, none waiting for another.
Does not know: what the sources are, what the baseline is, or who may turn it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog
from msgspec import Struct

from elbowroom_proxy.killword import Word
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.ports import KillSwitch

PERIOD = 0.25  # seconds from one answer to the next question
CONFIG = "config"

log = structlog.get_logger("elbowroom")


class Said(Struct, frozen=True):
    """What is known of the switch."""

    killed: bool
    sources: Mapping[str, Word]  # by name; `config` among them


class Kill:
    """One process's. `on` is what requests look at: no question is asked for it."""

    def __init__(
        self, sources: Mapping[str, KillSwitch], metrics: Metrics, *, configured: bool, period: float = PERIOD
    ) -> None:
        """`configured`: what the configuration says. `period` in seconds."""
        self.on = False
        self._sources = sources
        self._metrics = metrics
        self._period = period
        self._words = {CONFIG: Word(configured), **dict.fromkeys(sources, Word(on=False))}
        self._watching: list[asyncio.Task[None]] = []
        self._turns = 0
        self._settle()

    def killed(self) -> bool:
        """Whether it is on now."""
        return self.on

    def said(self) -> Said:
        return Said(self.on, dict(self._words))

    def configure(self, *, killed: bool) -> None:
        """The configuration says so now."""
        self._hear(CONFIG, Word(killed))

    async def start(self) -> None:
        """Every source was asked once when it returns; each is asked again and again from now on."""
        await self.look()
        self._watching = [asyncio.create_task(self._watch(name)) for name in self._sources]

    async def look(self) -> None:
        """Asks every source now."""
        await asyncio.gather(*(self._ask(name) for name in self._sources))

    async def say(self, word: Word) -> Mapping[str, str]:
        """Tells every source; what went wrong by its name, "" where nothing did. It holds here when this returns."""
        names = list(self._sources)
        self._turns += 1
        faults = dict(zip(names, await asyncio.gather(*(self._sources[one].write(word) for one in names)), strict=True))
        self._turns += 1
        for name, fault in faults.items():
            if not fault:
                self._hear(name, word)
        return faults

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        for source in self._sources.values():
            await source.close()

    async def _watch(self, name: str) -> None:
        while True:
            await asyncio.sleep(self._period)
            try:
                await self._ask(name)
            except Exception as error:  # nobody would notice that this source is asked no more
                log.error("kill_switch_unread", source=name, exc_info=error)

    async def _ask(self, name: str) -> None:
        turns = self._turns
        word = await self._sources[name].read()
        if word is not None and turns == self._turns:  # else it was asked before somebody turned the switch
            self._hear(name, word)

    def _hear(self, name: str, word: Word) -> None:
        if self._words[name] != word:
            self._words[name] = word
            self._settle()

    def _settle(self) -> None:
        on = any(word.on for word in self._words.values())
        self._metrics.killed.set(on)
        if on is not self.on:
            self.on = on
            reasons = sorted({word.reason for word in self._words.values() if word.on and word.reason})
            log.warning("killed", on=on, by=[name for name, word in self._words.items() if word.on], reasons=reasons)
