"""The Lua that changes a ledger: read once, known to a server by its SHA-1.

Knows: the files of `lua/`, and how one is called: by its SHA-1, or whole where a server does not know it yet.
Does not know: what a script does. Another version is another SHA-1, so two versions can share one server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

Word = str | bytes | int


class Script(Struct, frozen=True):
    """One file of `lua/`."""

    text: bytes
    sha: str

    @classmethod
    def of(cls, text: bytes) -> Script:
        """That text, and what a server will call it."""
        return cls(text, hashlib.sha1(text, usedforsecurity=False).hexdigest())

    def known(self, keys: Sequence[str], args: Sequence[Word]) -> tuple[Word, ...]:
        """The command for a server that has seen it."""
        return ("EVALSHA", self.sha, len(keys), *keys, *args)

    def whole(self, known: Sequence[Word]) -> tuple[Word, ...]:
        """The same command for a server that has not."""
        return ("EVAL", self.text, *known[2:])


def script(name: str) -> Script:
    """`lua/<name>.lua`."""
    return Script.of((Path(__file__).parent / "lua" / f"{name}.lua").read_bytes())
