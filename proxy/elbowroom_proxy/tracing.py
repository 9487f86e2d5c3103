"""How records are kept, as an operator says it, and the keys that make hashes and hide texts.

Knows: which of these words cannot be together, and where the keys lie that can be destroyed.
Does not know: how a record is written (`sinks`), or what is in one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Config

KEYS = "keys"  # the folder of content keys, one file an id
KEY_BYTES = 32

As = Literal["hash", "redacted", "full"]
Days = Annotated[int, Meta(ge=1, le=36_500)]
Bytes = Annotated[int, Meta(ge=1)]
Fault = Callable[[str, str], InvalidConfig]


class Full(Config, frozen=True):
    """Why texts are kept as they came, until when, and whose: tenants that have agreed to it."""

    reason: Annotated[str, Meta(min_length=1)]
    until: dt.date  # the last day, UTC
    tenants: Annotated[tuple[str, ...], Meta(min_length=1)]


class Traces(Config, frozen=True):
    """`traces` in elbowroom.yaml; `general_settings.traces` is the folder."""

    capture: As = "hash"  # what is kept of texts: nothing, what redaction leaves of them, or everything
    full: Full | None = None
    capture_days: Days = 7  # for so long
    instructions: Literal["stored", "hash"] = "stored"  # system and developer texts, redacted, once a digest
    hash_key_id: Annotated[str, Meta(pattern="^[A-Za-z0-9_]{1,32}$")] = "1"
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    on_trace_failure: Literal["serve", "reject"] = "serve"
    retention_days: Days | None = None
    retention_bytes: Bytes | None = None

    def captures(self, tenant: str | None, day: dt.date) -> As:
        """What is kept of the texts of a tenant's request, that day."""
        if self.full is None or self.capture != "full":
            return self.capture
        agreed = tenant in self.full.tenants and day <= self.full.until
        return "full" if agreed else "hash"

    def until(self, kept: As, day: dt.date) -> dt.date:
        """The last day of a text that is kept on that day."""
        last = day + dt.timedelta(days=self.capture_days)
        return min(last, self.full.until) if kept == "full" and self.full is not None else last


class ContentKeys(Struct, frozen=True):
    """Keys that die with one file: without it no hash can be made again, and no kept text read."""

    id: str
    hash: bytes
    texts: bytes


def checked(traces: Traces, fault: Fault, at: str = "traces") -> Traces:
    """The same. Raises `InvalidConfig` for words that cannot be together; `at` is where they stand."""
    if traces.capture == "full" and traces.full is None:
        raise fault(f"{at}.capture", "full needs `full: {reason, until, tenants}`")
    if traces.full is not None and traces.capture != "full":
        raise fault(f"{at}.full", "says nothing while capture is not full")
    if traces.sample < 1 and traces.on_trace_failure == "reject":
        raise fault(f"{at}.sample", "a request that may not go without a record cannot be left out of a sample")
    return traces


def content_keys(folder: Path, key_id: str, secret: bytes) -> ContentKeys:
    """The keys of that id, made now where there are none. `secret` alone does not give them.

    Raises `InvalidConfig` where they cannot be kept.
    """
    file = folder / KEYS / key_id
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # `parents` alone would open it to everybody
        file.parent.mkdir(mode=0o700, exist_ok=True)
        if not file.exists():
            _made(file)
    except OSError as error:
        raise InvalidConfig(f"{file}:1: the key of hashes cannot be kept here: {error.strerror}") from error
    found = kept_keys(folder, key_id, secret)
    if found is None:
        raise InvalidConfig(f"{file}:1: the key of hashes is damaged; name another hash_key_id")
    return found


def _made(file: Path) -> None:
    """The file with a key in it, whole from the moment that it is there; of two processes the first one makes it."""
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "wb") as out:
        out.write(secrets.token_hex(KEY_BYTES).encode())
    with suppress(FileExistsError):
        os.link(new, file)
    new.unlink()


def kept_keys(folder: Path, key_id: str, secret: bytes) -> ContentKeys | None:
    """The keys of that id; None where they were destroyed, or never were."""
    try:
        kept = (folder / KEYS / key_id).read_bytes().strip()
    except OSError:
        return None
    if len(kept) != 2 * KEY_BYTES:
        return None

    def key(purpose: bytes) -> bytes:
        return hmac.digest(secret, b"elbowroom/content/1/" + purpose + b":" + kept, hashlib.sha256)

    return ContentKeys(key_id, key(b"hash"), key(b"texts"))
