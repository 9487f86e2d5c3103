"""Token counts in this process: the `CountCache` of a single instance without Redis.

Knows: keys and integers, how many of them it may keep.
Does not know: texts, tokenizers, other processes. It outlives the texts that `tokens` remembers, at 100 bytes a count.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence


class MemoryCounts:
    """A bounded mapping; the count that was not asked for the longest goes first."""

    def __init__(self, max_entries: int = 100_000) -> None:
        self._max_entries = max_entries
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def get(self, keys: Sequence[str]) -> list[int | None] | None:
        """One integer or None a key, in order."""
        found = [self._counts.get(key) for key in keys]
        for key, count in zip(keys, found, strict=True):
            if count is not None:
                self._counts.move_to_end(key)
        return list(found)

    async def put(self, counts: Mapping[str, int]) -> None:
        self._counts.update(counts)
        while len(self._counts) > self._max_entries:
            self._counts.popitem(last=False)

    async def healthy(self) -> bool:
        return True

    async def close(self) -> None:
        self._counts.clear()
