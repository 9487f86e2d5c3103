"""Keys as keys.yaml lists them, watched: what is written there holds within a second.

Knows: how often to look, that a file which is wrong or gone leaves the last good one in force, and that a key that was
replaced ends by itself.
Does not know: any key; what the rows mean (`directory`).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from elbowroom.budget.limits import Account
from elbowroom.budget.orgs import Orgs
from elbowroom.budget.rights import Rights, Written
from elbowroom.errors import InvalidConfig
from elbowroom.records import Principal
from elbowroom_proxy import directory
from elbowroom_proxy.directory import Directory, Holder

AGAIN = 0.25  # seconds from one look at the file to the next

log = structlog.get_logger("elbowroom")

_Seen = tuple[int, int, int]  # of a file: when it was changed, how long it is, which one it is
_UNSEEN: _Seen = (0, 0, 0)


def anybody(_: Directory) -> None:
    """Whatever the limits are, they can be kept."""


class WatchedKeys:
    """One directory at a time, swapped whole."""

    def __init__(
        self,
        found: Directory,
        file: Path | None = None,
        *,
        clock: Callable[[], float] = time.time,
        fits: Callable[[Directory], None] = anybody,
    ) -> None:
        """`found` is what `file` said when it was read; without one nothing is watched. `clock`: seconds since 1970.
        `fits` raises `InvalidConfig` for limits that this process could not keep.
        """
        self._file = file
        self._fits = fits
        self._clock = clock
        self._seen: _Seen | None = _UNSEEN
        self._salt = secrets.token_bytes(32)
        self._task: asyncio.Task[None] | None = None
        self._swap(found)

    @property
    def closed(self) -> bool:
        """Whether nobody is let in without a key."""
        return self.directory.closed

    def find(self, digest: str) -> Principal | None:
        """Whose key has that SHA-256; None: nobody's."""
        known, holder = self._holders.get(self._mark(digest), ("", None))
        if holder is None or not hmac.compare_digest(known, digest):
            return None
        return holder.principal if holder.until is None or self._clock() < holder.until else None

    def admitted(self, principal: Principal, own: Rights) -> Principal | None:
        """A token's principal, as far as its team lets it; None where there is no such team."""
        return self.directory.admitted(principal, own)

    def account(self, principal: Principal) -> Account | None:
        """Whom its requests are charged to; None: nobody. Raises `InvalidApiKey` for who has just gone."""
        return self.directory.account(principal)

    def swap(self, found: Directory) -> None:
        """Another directory, as from now on, such as one of other organisations. The file is soon looked at again.

        Raises `InvalidConfig` where keys are gone, for nobody becomes everybody while the service runs, and for limits
        that cannot be kept.
        """
        if self.closed and not found.closed:
            raise _gone(self._file)
        self._fits(found)
        self._swap(found)
        self._seen = _UNSEEN

    async def start(self) -> None:
        """Looks from now on."""
        if self._file is not None:
            self._task = asyncio.create_task(self._watch(self._file))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self, file: Path) -> None:
        while True:
            seen = await asyncio.to_thread(_stat, file)
            if seen != self._seen:
                # What is read may be newer than what was seen; then the next look finds a change that is none.
                self._seen = seen
                try:
                    await self._refresh(self.directory)
                except Exception as error:
                    # A watch that ended would leave keys in force that are blocked.
                    log.error("unforeseen", exc_info=error)
                    self._seen = _UNSEEN
            await asyncio.sleep(AGAIN)

    async def _refresh(self, was: Directory) -> None:
        if was.written is None:
            return
        try:
            found = await asyncio.to_thread(self._read, was.orgs, was.written)
        except InvalidConfig as error:
            log.error("keys", fault=error.message, kept=was.digest)
            return
        if self.directory is not was:
            self._seen = _UNSEEN
        elif found.digest != was.digest:
            log.info("keys", was=was.digest, now=found.digest, keys=len(found.rows))
            self._swap(found)

    def _read(self, orgs: Orgs, written: Written) -> Directory:
        text = None if self._file is None else directory.kept(self._file)
        if text is None and self.closed:
            raise _gone(self._file)
        found = directory.read(text, str(self._file), orgs, written)
        self._fits(found)
        return found

    def _swap(self, found: Directory) -> None:
        self._holders: dict[bytes, tuple[str, Holder]] = {
            self._mark(digest): (digest, holder) for digest, holder in found.holders.items()
        }
        self.directory = found

    def _mark(self, digest: str) -> bytes:
        """What a digest is looked up by. Whoever sends keys cannot know it, so how long that takes tells nothing."""
        return hashlib.blake2b(digest.encode(), key=self._salt, digest_size=16).digest()


def _gone(file: Path | None) -> InvalidConfig:
    return InvalidConfig(f"{file}:1: the file is gone; the keys that stood in it stay in force")


def _stat(file: Path) -> _Seen | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
