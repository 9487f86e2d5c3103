"""Server-sent events as bytes: where one ends, and which of its lines may reach a client.

Knows: that LF, CRLF and CR end a line and nothing else does (U+2028 and its kin stand inside answers), that a blank
line ends an event, and that network reads cut anywhere, inside a character or between CR and LF.
Does not know: JSON, chat chunks, sockets.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Atomic groups: a CRLF is one line end, and is never taken apart to make two.
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_NOT_RELAYED = (b"id", b"retry")


class Splitter:
    """Bytes in as they arrive, whole events out, each with the blank line that ends it.

    Blank lines before an event belong to none and are left out. The events are the same however the bytes were cut.
    """

    def __init__(self) -> None:
        self._pending = bytearray()
        self._searched = 0

    @property
    def pending(self) -> int:
        """Bytes of the event that has begun and not ended."""
        return len(self._pending)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that end in this chunk, in order."""
        if not self._pending and chunk.find(b"\n\n") == len(chunk) - 2 > 0 and b"\r" not in chunk and chunk[0] != 10:
            return [chunk]  # by far the most usual read: one event, whole
        pending = self._pending
        pending += chunk
        events = []
        while True:
            if pending.startswith((b"\n", b"\r")):
                del pending[: len(pending) - len(pending.lstrip(b"\r\n"))]
            found = _BLANK_LINE.search(pending, self._searched)
            # A CR at the very end may be half of a CRLF: the next byte tells.
            if found is None or (found.end() == len(pending) and pending[-1] == 13):
                break
            events.append(bytes(pending[: found.end()]))
            del pending[: found.end()]
            self._searched = 0
        self._searched = max(0, len(pending) - 3)  # a blank line is four bytes at most
        return events

    def finish(self) -> list[bytes]:
        """The end of the stream: what is pending, as the event that it would be if a blank line followed."""
        rest = bytes(self._pending)
        self._pending.clear()
        self._searched = 0
        if not rest or _BLANK_LINE.search(rest):
            return [rest] if rest else []
        return [rest.rstrip(b"\r\n") + b"\n\n"]


class Event(NamedTuple):
    """One event, read."""

    data: bytes | None  # its data lines, joined by LF; None where they are absent or say nothing
    head: bytes  # its other lines that may be relayed: what stands before a data line that was rewritten
    relay: bytes  # the bytes to relay where nothing was rewritten; the upstream's own, but for the lines left out


def read(raw: bytes) -> Event:
    """Reads one whole event.

    `id:` and `retry:` lines are left out: once an id was seen, an SDK parses every empty event and fails. An event
    without data is left out for the same reason; comments are no events, and pass.
    """
    if raw.startswith(b"data: ") and raw.find(b"\n") == len(raw) - 2 > 6 and raw[6] > 32 and b"\r" not in raw:
        return Event(raw[6:-2], b"", raw)
    data: list[bytes] = []
    head: list[bytes] = []
    bare: list[bytes] = []  # comments, and the blank line
    kept: list[bytes] = []
    for line in raw.splitlines(keepends=True):  # on bytes this splits at LF, CRLF and CR alone
        name, _, value = line.rstrip(b"\r\n").partition(b":")
        if name in _NOT_RELAYED:
            continue
        kept.append(line)
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name or value:
            head.append(line)
        if not name:
            bare.append(line)
    joined = b"\n".join(data)
    if joined.strip():
        return Event(joined, b"".join(head), b"".join(kept))
    return Event(None, b"", b"".join(bare) if len(bare) > 1 else b"")
