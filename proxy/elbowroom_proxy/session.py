"""Who is logged in at the review desk.

Knows: that a cookie stands for a key's digest until a time, sealed so that nobody can read or make one; that the key is
looked up with every page, so that one which is blocked is logged out; and that a form must name its session.
Does not know: cookies' headers, pages, or any key: only the SHA-256 of one, and none is in any message.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import structlog

from elbowroom.errors import InvalidApiKey, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy.ports import Keys
from elbowroom_proxy.readers import scope
from elbowroom_proxy.sealed import Sealer

LASTS = 8 * 3600  # seconds from login
LONGEST = 512  # characters of a cookie, or of a key that is typed in
MOST_ENDED = 4096  # sessions that were ended here and have not expired yet
ENDED = "ended"  # the folder of those that were ended, beside the records
_NAME = "desk session"

log = structlog.get_logger("elbowroom")


class Sessions:
    """Nothing is kept of a session but that it was ended; any instance with the same secret takes its cookie."""

    def __init__(
        self,
        keys: Keys,
        secret: bytes,
        *,
        ended: Path | None = None,
        lasts: float = LASTS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`ended` is a folder in which processes tell each other which sessions were. `clock`: seconds since 1970."""
        self.lasts = lasts
        self.clock = clock
        self._keys = keys
        self._sealer = Sealer(secret)
        self._form_key = hmac.digest(secret, b"elbowroom/desk/form", hashlib.sha256)
        self._folder = ended
        self._ended: OrderedDict[str, None] = OrderedDict()

    def begin(self, key: str) -> str:
        """The cookie of whoever has that key. Raises `InvalidApiKey`; `RoleNotAllowed` for one that reads nothing."""
        digest = hashlib.sha256(key.strip().encode("utf-8", "replace")).hexdigest()
        found = self._keys.find(digest) if key.strip() and len(key) <= LONGEST else None
        if found is None:
            raise InvalidApiKey("That key is not valid.")
        scope(found)
        return self._sealer.seal(_NAME, f"{digest} {self.clock() + self.lasts:.0f}")

    def reader(self, cookie: str | None) -> Principal | None:
        """Whose session that is; None where it is none, has expired or was ended, or its key reads no longer."""
        if not cookie or len(cookie) > LONGEST or self._is_ended(_hashed(cookie)):
            return None
        told = self._sealer.open(_NAME, cookie)
        if told is None:
            return None
        digest, until = told.split(" ")
        if self.clock() >= int(until):
            return None
        found = self._keys.find(digest)
        try:
            if found is not None:
                scope(found)
        except RoleNotAllowed:
            return None
        return found

    def form_token(self, cookie: str) -> str:
        """What a form of that session carries, and no other page can know."""
        return hmac.digest(self._form_key, cookie.encode(), hashlib.sha256).hex()

    def is_own(self, cookie: str | None, token: str) -> bool:
        """Whether a form with that token came from a page of that session."""
        return bool(cookie) and hmac.compare_digest(self.form_token(cookie or "").encode(), token.encode())

    def end(self, cookie: str) -> None:
        """Its cookie is worth nothing from now on, should somebody have copied it."""
        name = _hashed(cookie)
        self._ended[name] = None
        while len(self._ended) > MOST_ENDED:
            self._ended.popitem(last=False)
        if self._folder is not None:
            try:
                self._tell(self._folder, name)
            except OSError as error:
                log.error("session_ended_here_alone", error=str(error))

    def _is_ended(self, name: str) -> bool:
        return name in self._ended or (self._folder is not None and (self._folder / name).exists())

    def _tell(self, folder: Path, name: str) -> None:
        """By an empty file; those of sessions that are over by themselves go."""
        now = self.clock()
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / name).touch(mode=0o600)
        os.utime(folder / name, (now, now))
        for path in folder.iterdir():
            if path.stat().st_mtime < now - self.lasts:
                path.unlink(missing_ok=True)


def _hashed(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
