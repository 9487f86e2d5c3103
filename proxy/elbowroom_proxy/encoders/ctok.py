"""Claude's tokens, by ctok's reconstruction.

Knows: which of its versions there are, the frame that it puts around every text, and how long a text it can bear.
Does not know: what a request adds (`elbowroom.count.claude`).

ctok is pure Python: about 20 microseconds a character, with the interpreter's lock held. It declares Python 3.12.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from elbowroom.errors import CountUnavailable

LONGEST = 400_000  # characters: about eight seconds
_FRAMES = {"3.0": 7, "4.7": 7, "4.8": 6}


class Ctok:
    """Implements `Encoder`."""

    quick = False

    def __init__(self, version: str, count: Callable[[str, str], int]) -> None:
        self._version = version
        self._count = count
        self._frame = _FRAMES[version]

    def tokens(self, text: str) -> int:
        """Without the frame; a generation's frame may end in the mark of a word's beginning, which is counted here."""
        if len(text) > LONGEST:
            raise CountUnavailable(f"Claude's tokens are counted for texts of at most {LONGEST} characters")
        return self._count(text, self._version) - self._frame


def build(which: str, _file: Path | None) -> Ctok:
    """Raises `CountUnavailable` for a generation that ctok does not know."""
    if which not in _FRAMES:
        raise CountUnavailable(f"vocabulary ctok:{which}: unknown; there are {', '.join(_FRAMES)}")
    import ctok  # noqa: PLC0415 - an extra

    return Ctok(which, ctok.token_count)
