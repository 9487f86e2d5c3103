"""The public keys of an issuer of tokens, from a file or an address.

Knows: when they are read again (after a while; sooner, where a token names one that is not there), and that the last
ones stay where that fails.
Does not know: tokens, or what a key is used for.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jwt
import structlog

from elbowroom.errors import KeysUnavailable

TIMEOUT = 5.0  # seconds
AGAIN = 30.0  # seconds between two readings, however many unknown keys are named

log = structlog.get_logger("elbowroom")


class Jwks:
    """One issuer's. Times in seconds."""

    def __init__(self, where: str, *, max_age: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`where` is an address, or else a file."""
        self._where = where
        self._max_age = max_age
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] | None = None
        self._read = self._tried = -float("inf")
        self._lock = asyncio.Lock()

    async def find(self, kid: str) -> jwt.PyJWK | None:
        """The public key of that id; None: the issuer has none. Raises `KeysUnavailable` before any could be read."""
        wanted = self._keys is None or kid not in self._keys or self._clock() - self._read >= self._max_age
        if wanted:
            async with self._lock:  # who waited finds that it has just been tried
                if self._clock() - self._tried >= AGAIN:
                    await self._refresh()
        if self._keys is None:
            raise KeysUnavailable("Tokens cannot be verified at the moment.")
        return self._keys.get(kid)

    async def _refresh(self) -> None:
        self._tried = self._clock()
        try:
            found = jwt.PyJWKSet.from_dict(await self._load())
        except (OSError, ValueError, TypeError, AttributeError, httpx.HTTPError, jwt.PyJWTError) as error:
            log.warning("jwks", fault=type(error).__name__, kept=self._keys is not None)
            return
        self._keys = {key.key_id: key for key in found if key.key_id and key.public_key_use != "enc"}
        self._read = self._tried

    async def _load(self) -> dict[str, Any]:
        if not is_address(self._where):
            text = await asyncio.to_thread(Path(self._where).read_bytes)
        else:
            async with httpx.AsyncClient(timeout=TIMEOUT) as http:
                text = (await http.get(self._where)).raise_for_status().content
        value: dict[str, Any] = json.loads(text)
        return value


def is_address(where: str) -> bool:
    """Whether it is one, and no file."""
    return where.startswith(("https://", "http://"))
