"""An answer that is handed on as it comes: what is read of it on the way.

Knows: where usage stands in embeddings and responses, how a streamed response ends, and how it says that it failed.
Does not know: sockets, what was asked, or what an answer says.

Whole events are relayed as the upstream's own bytes, so that an error can follow at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from elbowroom.errors import ElbowroomError, UpstreamUnavailable
from elbowroom_proxy import splice, sse

EVENT_MAX: Final = 16 * 1024 * 1024
"""Bytes of one event; an upstream that never ends one must not fill the memory."""

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class _Body(Struct):
    usage: Any = None
    status: Any = None


class _Event(Struct):
    type: Any = None
    response: Any = None


_BODY = msgspec.json.Decoder(_Body)
_EVENT = msgspec.json.Decoder(_Event)


class Answer:
    """What a record wants to know of any answer; of these, only what they took and how they ended."""

    citations = ()
    invented = ()
    foreign_links = ()
    calls_refused = 0
    calls_tainted = 0
    calls = ()
    text = ""

    def __init__(self) -> None:
        self.usage: Mapping[str, Any] | None = None
        self.finish_reason: str | None = None

    def read(self, body: _Body) -> None:
        """Usage, and the status that a response ends in."""
        self.usage = body.usage if isinstance(body.usage, dict) else self.usage
        self.finish_reason = body.status if isinstance(body.status, str) else self.finish_reason


def whole(body: bytes) -> Answer:
    """Of an answer in one piece."""
    answer = Answer()
    if (read := splice.read(body, _BODY)) is not None:
        answer.read(read)
    return answer


class Streamed(Answer):
    """A streamed response; the same however the bytes were cut. `came` is told of every event."""

    def __init__(self, came: Callable[[bytes], None] | None = None) -> None:
        super().__init__()
        self.ended = False  # nothing more will come out
        self.failed: str | None = None  # an error's code, `upstream_error` for one that the upstream sent
        self._came = came
        self._splitter = sse.Splitter()
        self._complete = False  # its last event came

    def feed(self, chunk: bytes) -> bytes:
        """What the client gets after these bytes; part of an event is kept until it is whole."""
        out = b"".join(map(self._event, self._splitter.feed(chunk)))
        if self._splitter.pending > EVENT_MAX:
            out += self.fail(UpstreamUnavailable("The upstream sent an event without an end."))
        return out

    def finish(self) -> bytes:
        """The upstream's end of file. A response that did not end was cut, and must not pass for a whole one."""
        out = b"".join(map(self._event, self._splitter.finish()))
        if not self._complete and self.failed is None:
            out += self.fail(UpstreamUnavailable("The upstream closed the stream before the answer was complete."))
        self.ended = True
        return out

    def fail(self, error: ElbowroomError) -> bytes:
        """The error as an event; nothing if the response had ended."""
        if self.ended or self._complete:
            return b""
        self.failed, self.ended = error.code, True
        said = {"type": "error", "code": error.code, "message": error.message, "param": error.param}
        return b"event: error\ndata: " + msgspec.json.encode({**said, "sequence_number": 0}) + b"\n\n"

    def _event(self, raw: bytes) -> bytes:
        event = sse.read(raw)
        if self.ended or event.data is None:
            return b"" if self.ended else event.relay
        said = splice.read(event.data, _EVENT)
        if said is not None and said.type in _ENDS and (body := _body(said.response)) is not None:
            self._complete = True
            self.read(body)
        elif said is not None and said.type == "error":
            self.failed, self.ended = "upstream_error", True
        elif self._came is not None:
            self._came(event.data)
        return event.relay


def _body(response: Any) -> _Body | None:
    return _Body(response.get("usage"), response.get("status")) if isinstance(response, dict) else None
