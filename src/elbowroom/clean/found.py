"""What was found in texts that were searched before: a bounded memo, so that a known text costs one lookup.

Knows: the whole text and the packs that it was searched by (the key), and roughly what that takes in memory.
Does not know: whose text it was. Nothing in it does not follow from the text and the packs. One thread at a time.
"""

from __future__ import annotations

import sys
from collections import OrderedDict

from elbowroom.needs import Finding

Findings = tuple[Finding, ...]
_ENTRY = 200  # bytes beside the text


class Found:
    """Least recently used texts go first when together they are larger than `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self._texts: OrderedDict[tuple[tuple[str, ...], str], Findings] = OrderedDict()

    def __len__(self) -> int:
        return len(self._texts)

    def get(self, packs: tuple[str, ...], text: str) -> Findings | None:
        """None: it is not known."""
        found = self._texts.get((packs, text))
        if found is not None:
            self._texts.move_to_end((packs, text))
        return found

    def put(self, packs: tuple[str, ...], text: str, findings: Findings) -> None:
        """Remembers; a text that would push out more than an eighth of the others is not worth it."""
        size = _size(text, findings)
        if size > self.max_bytes >> 3 or (packs, text) in self._texts:
            return
        self._texts[packs, text] = findings
        self.bytes += size
        while self.bytes > self.max_bytes:
            (_, oldest), gone = self._texts.popitem(last=False)
            self.bytes -= _size(oldest, gone)


def _size(text: str, findings: Findings) -> int:
    return sys.getsizeof(text) + _ENTRY * (1 + len(findings))
