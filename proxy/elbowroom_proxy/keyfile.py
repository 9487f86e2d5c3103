"""keys.yaml, changed by one process at a time and never half.

Knows: how to wait for one another, and that a file comes into being whole, for its owner alone.
Does not know: what is changed, or why; no key, only digests.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from elbowroom.errors import InvalidConfig
from elbowroom_proxy.directory import KeysFile, kept, parsed

# No brace: what is read fast begins at the first.
HEADER = "# Written by `elbowroom keys`. What is changed by hand is read within a second, too, or refused in the log.\n"
MODE = 0o600


def change(file: Path, do: Callable[[KeysFile], KeysFile]) -> KeysFile:
    """Reads the rows, and writes what `do` makes of them; what it raises leaves all as it was. The rows that hold now.

    Whoever else changes the file waits so long. Raises `InvalidConfig` where it cannot be read or written.
    """
    file = file.resolve()  # a link stays one
    try:
        with _alone(file):
            text = kept(file)
            rows = KeysFile() if text is None else parsed(text, str(file))
            new = do(rows)
            if new != rows:
                _replace(file, written(new))
            return new
    except OSError as error:
        raise InvalidConfig(f"{file}:1: {error.strerror or 'cannot be written'}") from error


def written(rows: KeysFile) -> bytes:
    """The file's bytes: one key a line."""
    lines = b",\n".join(msgspec.json.encode(row) for row in rows.keys)
    return HEADER.encode() + b'{"version": %d, "keys": [\n%s\n]}\n' % (rows.version, lines)


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """The lock ends with its process, however that ends; its file stays."""
    lock = os.open(file.with_name(file.name + ".lock"), os.O_RDWR | os.O_CREAT, MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _replace(file: Path, data: bytes) -> None:
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        with os.fdopen(descriptor, "wb") as out:
            with suppress(FileNotFoundError, PermissionError):
                # An administrator who changes a service's file leaves it to the service.
                owner = file.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            out.write(data)
            out.flush()
            os.fsync(descriptor)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
