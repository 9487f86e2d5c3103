"""Whether the process that writes a file is still there.

Knows: the operating system's locks, which end with their process however it ends.
Does not know: what is written. Where there are no such locks, every file may have a writer, and none is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover -- not on Windows
    fcntl = None  # type: ignore[assignment]  # there it is None


def lock(file: int) -> bool:
    """Takes the lock, until the file is closed; False where another process has it, or there are no locks."""
    if fcntl is None:  # pragma: no cover
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def abandoned(path: Path) -> Iterator[int | None]:
    """The file, open, while nobody else writes it; None where somebody may."""
    file = os.open(path, os.O_RDWR)
    try:
        yield file if lock(file) else None
    finally:
        os.close(file)
