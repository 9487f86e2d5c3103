"""What is known of texts that were seen before: a bounded memo, so that a known text costs one lookup.

Knows: the raw text (the key, whole, so nobody can pass one text off as another), and how many bytes its record takes.
Does not know: whose text it was; it holds nothing that does not follow from the text alone. One thread at a time.
"""

from __future__ import annotations

from elbowroom.clean.neutralise import LIVE, Live
from elbowroom.clean.text import Line, Text, line_of

_UNSETTLED = 256


class Known:
    """Least recently used texts go first when together they are larger than `max_bytes`.

    `live`: the control strings that texts are cleaned of.
    """

    def __init__(self, max_bytes: int, live: Live = LIVE) -> None:
        self.max_bytes = max_bytes
        self.live = live
        self.bytes = 0  # as last measured
        self._texts: dict[str, Text] = {}  # oldest use first
        self._sizes: dict[str, int] = {}
        self._unsettled: list[Text] = []  # their sentences and terms may have been asked for since

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, raw: str) -> Text:
        """The record of `raw`, made now if it is not known."""
        text = self._texts.pop(raw, None)
        if text is None:
            text = Text.of(raw, self.live)
            self._sizes[raw] = 0
            self._texts[raw] = text
            self._unsettled.append(text)
            if len(self._unsettled) >= _UNSETTLED:
                for made in self._unsettled:
                    self._measure(made)
                self._unsettled.clear()
            self._measure(text)
            self._evict()
        else:
            self._texts[raw] = text
        return text

    def apart(self) -> Known:
        """An empty one of the same size and control strings, for a thread of its own."""
        return Known(self.max_bytes, self.live)

    def line(self, raw: str) -> str:
        """A title or another attribute as it may be shown; short, so it is not kept."""
        return self.line_of(raw).text

    def line_of(self, raw: str) -> Line:
        """The same, and what was done to it."""
        return line_of(raw, live=self.live)

    def _measure(self, text: Text) -> None:
        if text.raw in self._sizes:
            size = text.size
            self.bytes += size - self._sizes[text.raw]
            self._sizes[text.raw] = size

    def _evict(self) -> None:
        while self.bytes > self.max_bytes:
            oldest = next(iter(self._texts))
            del self._texts[oldest]
            self.bytes -= self._sizes.pop(oldest)
