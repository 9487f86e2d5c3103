"""The files that a configuration was read from, and whether any of them says something else by now.

Knows: that every file that was read, every folder that was listed, and every file that was not there has a part in it.
Does not know: what the files say, who reads them, or how often somebody looks.

What is compared is the files' bytes: a clock that stands still, or a mount that is swapped below a link, hides nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from elbowroom.errors import InvalidConfig

_FOLDER = b"/"

Look = dict[str, str]  # path, with a pattern behind it for a listed folder -> digest of what was there


class Files:
    """The files of one reading. One thread at a time."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Path, str], bytes] = {}

    def text(self, file: Path) -> str:
        """Raises `InvalidConfig` for a file that is not there, cannot be read, or is not UTF-8."""
        try:
            data = self.data(file)
        except OSError as error:
            raise InvalidConfig(f"{file}:1: {error.strerror or 'cannot be read'}") from error
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidConfig(f"{file}:1: not UTF-8 text") from error

    def data(self, file: Path) -> bytes:
        """Raises `OSError`; that it could not be read is remembered, too."""
        self._seen[file, ""] = _FOLDER if file.is_dir() else b""
        try:
            data = file.read_bytes()
        except ValueError as error:  # what no file can be called
            raise OSError(str(error)) from error
        self._seen[file, ""] = hashlib.sha256(data).digest()
        return data

    def first(self, *files: Path) -> Path:
        """The first that is there, else the last. Those before it may come into being, and then count."""
        for file in files[:-1]:
            if file.exists():
                return file
            self._seen.setdefault((file, ""), b"")
        return files[-1]

    def listed(self, folder: Path, pattern: str) -> list[Path]:
        """The folder's files with such a name, sorted."""
        found = sorted(folder.glob(pattern))
        self._seen[folder, pattern] = _names(found)
        return found

    @property
    def digest(self) -> str:
        """SHA-256 of all that was read, in hex."""
        return digest_of({f"{path} {pattern}": one.hex() for (path, pattern), one in self._seen.items()})

    def look(self) -> str:
        """What `digest` would be by now. Reads every file; whoever waits for nothing else calls it on a thread."""
        return digest_of({f"{path} {pattern}": _now(path, pattern).hex() for path, pattern in self._seen})


def digest_of(look: Look) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(repr(sorted(look.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _now(path: Path, pattern: str) -> bytes:
    try:
        if pattern:
            return _names(sorted(path.glob(pattern)))
        return _FOLDER if path.is_dir() else hashlib.sha256(path.read_bytes()).digest()
    except (OSError, ValueError):
        return b""


def _names(found: list[Path]) -> bytes:
    return hashlib.sha256("\0".join(one.name for one in found).encode("utf-8", "surrogateescape")).digest()
