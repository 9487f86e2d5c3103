"""The kill switch as a file: it is on while the file is there.

Knows: that whoever sits at the machine turns it on with `touch` and off with `rm`; that a folder which is not there,
a mount that is gone for instance, says nothing.
Does not know: other instances, unless they share the folder.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from elbowroom_proxy import killword
from elbowroom_proxy.killword import Word


class KillFile:
    """A `KillSwitch`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def read(self) -> Word | None:
        """What the file says; None where it cannot be looked for."""
        return await asyncio.to_thread(self._read)

    async def write(self, word: Word) -> str:
        """Makes the file or takes it away, whole. Returns what went wrong, "" if nothing did."""
        return await asyncio.to_thread(self._write, word)

    async def close(self) -> None:
        """Holds nothing."""

    def _read(self) -> Word | None:
        try:
            return killword.read(self._file.read_bytes())
        except FileNotFoundError:
            return Word(on=False) if self._file.parent.is_dir() else None
        except OSError:
            return None

    def _write(self, word: Word) -> str:
        new = self._file.with_name(f"{self._file.name}.{os.getpid()}.new")
        try:
            if word.on:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                new.write_bytes(killword.written(word))
                new.replace(self._file)
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            return error.strerror or "cannot be written"
        return ""
