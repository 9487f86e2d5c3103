"""What lies beside the chain: policies and instructions once a digest, and captured texts, each for its time.

Knows: where each of them lies, that a captured text is readable with its record's key only, and that what is removed
here breaks no chain.
Does not know: what a record says, or when something is removed (`keeping`).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from elbowroom.account.captured import captured, cleaner
from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Policy
from elbowroom_proxy.ports import Capture, Texts
from elbowroom_proxy.settings import kept_policy
from elbowroom_proxy.sinks import line

POLICIES = "policies"
INSTRUCTIONS = "instructions"
CAPTURES = "captures"  # a folder a day: the last one of the texts in it
_NONCE = 12  # bytes


class Beside:
    """One process's way of putting things there. One thread at a time."""

    def __init__(self, folder: Path, key: bytes) -> None:
        """`key` is what captured texts are hidden by, 32 bytes."""
        self._folder = folder
        self._hidden = AESGCM(key)
        self._day = ""
        self._known: set[tuple[str, str]] = set()

    def keep(self, texts: Texts, day: str) -> None:
        """Puts down what is not there yet. Raises `OSError`."""
        if day != self._day:  # what is used is touched once a day, so that retention knows what is not
            self._day, self._known = day, set()
        if texts.policy is not None:
            self._once(POLICIES, *texts.policy)
        for digest, text in texts.instructions:
            if not self._there(INSTRUCTIONS, digest):
                self._once(INSTRUCTIONS, digest, cleaner()(text).encode())
        if texts.capture is not None:
            self._capture(texts.capture)

    def _there(self, kind: str, digest: str) -> bool:
        """Whether it was put down or touched today, and nobody removed it since."""
        return (kind, digest) in self._known and (self._folder / kind / digest).exists()

    def _once(self, kind: str, digest: str, data: bytes) -> None:
        if self._there(kind, digest):
            return
        path = self._folder / kind / digest
        if path.exists():
            os.utime(path)
        else:
            put(path, data)
        self._known.add((kind, digest))

    def _capture(self, said: Capture) -> None:
        told = captured(
            said.body, said.headers, said.answer,
            hidden=said.hidden, hidden_in=said.hidden_in, redacted=said.redacted,
        )  # fmt: skip
        nonce = secrets.token_bytes(_NONCE)
        data = nonce + self._hidden.encrypt(nonce, line.encode(told), said.trace_id.encode())
        put(self._folder / CAPTURES / said.until / said.trace_id, data)


def _private(folder: Path) -> None:
    """Makes it, and what is missing above it, for their owner only: `mkdir` would open those to everybody."""
    if not folder.is_dir():
        _private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def put(path: Path, data: bytes) -> None:
    """A file that is there whole or not at all, for its owner only. Raises `OSError`."""
    _private(path.parent)
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(data)
        new.replace(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise


def policy_files(folder: Path, digest: str) -> dict[str, Any] | None:
    """The files of a policy, as `{"policy": [name, text], "classes": [...], "sources": ...}`; None: not kept here."""
    data = _read(folder / POLICIES, digest)
    return None if data is None else line.plain(data)


def policy(folder: Path, digest: str) -> Policy | None:
    """A policy out of its files; None where it is not kept here, is not what it was, or says what nobody here knows."""
    files = policy_files(folder, digest)
    try:
        found = kept_policy(files) if files is not None else None
    except (InvalidConfig, msgspec.ValidationError):
        return None
    return found if found is not None and found.digest == digest else None


def instruction(folder: Path, digest: str) -> str | None:
    """What redaction left of a system or developer text; None: not kept here."""
    data = _read(folder / INSTRUCTIONS, digest)
    return None if data is None else data.decode("utf-8", "replace")


def capture(folder: Path, story: Mapping[str, Any], key: bytes) -> dict[str, Any] | None:
    """The captured texts of a record: `body`, `headers`, `answer`, `redacted`, `hidden`. None: there are none, or none
    that can be read with that key.
    """
    told, trace_id = story.get("captured") or {}, str(story.get("trace_id"))
    data = _read(folder / CAPTURES / _plain(str(told.get("until"))), trace_id)
    if data is None:
        return None
    try:
        plain = AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], trace_id.encode())
    except (InvalidTag, ValueError):
        return None
    return line.decode(plain)


def _read(folder: Path, name: str) -> bytes | None:
    try:
        return (folder / _plain(name)).read_bytes()
    except OSError:
        return None


def _plain(name: str) -> str:
    """A name that leads nowhere else, whatever a record says."""
    return name if name.replace("-", "").isalnum() else "none"
