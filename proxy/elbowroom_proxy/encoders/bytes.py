"""UTF-8 bytes, the bound that holds where the vocabulary is not known.

Knows: that no token of a byte-level vocabulary is shorter than a byte.
Does not know: any vocabulary.
"""

from __future__ import annotations

from pathlib import Path


class Bytes:
    """Implements `Encoder`."""

    quick = True

    def tokens(self, text: str) -> int:
        return len(text.encode("utf-8", "replace")) + 2 * sum("\ud800" <= character <= "\udfff" for character in text)


def build(_which: str, _file: Path | None) -> Bytes:
    """There is one."""
    return Bytes()
