"""What an answer says at once goes to the socket at once: a head and its body are one write, not two.

Knows: uvicorn's protocol, which writes the head and each part of the body by itself, and that a write costs the system
more than all that is joined for it.
Does not know: HTTP, or what is written. A stream's events are not held back: what one turn of the loop brings goes out
before the next.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Protocol(HttpToolsProtocol):
    """uvicorn's, with such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", Gathered(transport, self.loop)))


class Gathered:
    """A transport whose writes of one turn of the loop are one."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.is_closing = transport.is_closing
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """All else is the transport's own."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """What was written before goes out first."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self.is_closing():
            self._transport.writelines(waiting)
