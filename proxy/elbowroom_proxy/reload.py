"""The configuration watched: what is written in its files holds within a second, or not at all.

Knows: how often to look, that a change is read once it has held still, by the code that read it at start, and that
whatever is wrong with it leaves the last good configuration in force.
Does not know: what the files are, what is built from them, or what cannot be swapped (`swap` says).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog
from msgspec import structs

from elbowroom.errors import ElbowroomError, InvalidConfig
from elbowroom_proxy.configfiles import Files
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.settings import Settings

PERIOD = 0.3  # seconds from one look to the next; a change holds after two looks

log = structlog.get_logger("elbowroom")

Swap = Callable[[Settings], Awaitable[Sequence[str]]]  # -> the names of what needs a restart; raises for what cannot be


# Of `general_settings`; all others need a restart.
LIVE = frozenset({
    "policy", "policies", "killed", "orgs", "connect_timeout", "first_byte_timeout", "total_timeout", "max_concurrency",
    "max_queue", "ping_interval", "max_body_bytes",
})  # fmt: skip

# Of `traces`: what files and keys were opened by. The rest holds for requests that begin afterwards.
SINKS = ("hash_key_id", "retention_days", "retention_bytes")


def live_part(before: Settings, after: Settings) -> tuple[Settings, Sequence[str]]:
    """What can be swapped of `after`, the rest as it was, and the names of that rest where it has changed.

    Raises `InvalidConfig` for what cannot hold in part: tokenizers by which models are counted, where keys stand, and
    keys that are gone, since nobody becomes everybody while the service runs.
    """
    if before.tokenizers != after.tokenizers:
        raise InvalidConfig("model_list: other tokenizer files need a restart, so nothing of the change holds")
    if before.keys_file != after.keys_file:
        raise InvalidConfig("general_settings.keys: another file needs a restart, so nothing of the change holds")
    if before.closed and not after.closed:
        raise InvalidConfig("without keys and jwt everybody might ask: that needs a restart, so nothing holds")
    old, new = before.general, after.general
    kept = {one: getattr(old, one) for one in old.__struct_fields__ if one not in LIVE}
    names = [f"general_settings.{one}" for one, value in kept.items() if value != getattr(new, one)]
    held = {one: getattr(before.traces, one) for one in SINKS}
    names += [f"traces.{one}" for one, value in held.items() if value != getattr(after.traces, one)]
    traces = structs.replace(after.traces, **held)
    return structs.replace(after, general=structs.replace(new, **kept), traces=traces), names


class Reload:
    """One process's."""

    def __init__(self, settings: Settings, swap: Swap, metrics: Metrics, *, period: float = PERIOD) -> None:
        """`settings` are in force. `period` in seconds."""
        self._swap = swap
        self._metrics = metrics
        self._period = period
        self._in_force = settings
        self._files = settings.files  # of the last reading, be it good or bad
        self._still: str | None = None  # what the last look saw, where that was new
        self._task: asyncio.Task[None] | None = None
        metrics.reload_good.set(1)
        metrics.reload_time.set(time.time())

    async def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> None:
        """Looks once. A file that is being written is not read before the second look that sees the same."""
        now = await asyncio.to_thread(self._files.look)
        if now == self._files.digest:
            self._still = None
        elif now != self._still:
            self._still = now
        else:
            self._still = None
            await self._read()

    async def _watch(self) -> None:
        failed = ""
        while True:
            await asyncio.sleep(self._period)
            try:
                await self.look()
                failed = ""
            except Exception as error:  # nobody would notice that looking had ended
                if str(error) != failed:  # once for each new trouble
                    failed = str(error)
                    log.error("reload", exc_info=error)

    async def _read(self) -> None:
        before, files = self._in_force, Files()
        try:
            found = await asyncio.to_thread(before.again, files)
            needs = () if files.digest == before.files.digest else await self._swap(found)
        except ElbowroomError as error:
            self._failed(before, files, error.message)
        except Exception as error:  # whatever is wrong with a file, the proxy goes on with what it has
            self._failed(before, files, f"{type(error).__name__}: {error}")
            log.error("reload", exc_info=error)
        else:
            self._in_force = found
            self._metrics.reload_good.set(1)
            self._metrics.reload_time.set(time.time())
            log.warning(
                "reloaded",
                before=before.files.digest,
                after=files.digest,
                policy_before=before.policy.digest,
                policy_after=found.policy.digest,
                needs_a_restart=sorted(needs),
            )
            for note in found.notes:
                log.warning(note)
        self._files = files

    def _failed(self, before: Settings, files: Files, error: str) -> None:
        self._metrics.reload_good.set(0)
        log.error("reload_failed", error=error, found=files.digest, still_in_force=before.files.digest)
