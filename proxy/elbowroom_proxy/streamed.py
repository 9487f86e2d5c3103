"""A streamed answer on its way from the upstream to the client.

Knows: the order that SDKs can take (role and report, content, one annotations chunk, finish, usage if it was asked for,
`[DONE]`), what is hidden, added or left out, and when an answer was cut.
Does not know: sockets, time, how an error came about, or what makes a label or a link right.

Whole events are relayed as the upstream's own bytes; a value that must change is spliced, the rest of its chunk moves
as it is. Part of an event is never sent, so that an error frame can follow at any moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from elbowroom.errors import ElbowroomError, InventedCitation, UpstreamUnavailable
from elbowroom.write.answer import Reader, Watch
from elbowroom.write.citations import Citation
from elbowroom.write.echoes import FLAGS
from elbowroom.write.links import Link
from elbowroom_proxy import calls, contents, splice, sse, wire

EVENT_MAX: Final = 16 * 1024 * 1024
"""Bytes of one event; an upstream that never ends one must not fill the memory."""

INVENTED: Final = "The answer cites a passage that was not given out."
_DONE = b"data: [DONE]\n\n"
_NULL_USAGE = re.compile(rb',\s*"usage"\s*:\s*null(?=\s*[,}])')
_CONTENT = re.compile(rb'"content"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")', re.DOTALL)
_ENVELOPE = ("id", "object", "created", "model", "system_fingerprint", "service_tier")


class _Delta(Struct):
    content: Any = None
    annotations: Any = None
    tool_calls: Any = None
    function_call: Any = None


class _Piece(Struct):
    index: int | None = None
    delta: _Delta | None = None
    message: Any = None  # some servers say it whole once more in the end
    finish_reason: Any = None


class _Chunk(Struct):
    choices: list[_Piece] | None = None
    usage: Any = UNSET
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk)


class _Choice:
    """What is known of one of the `n` answers."""

    __slots__ = ("annotated", "finish_reason", "reader")

    def __init__(self, reader: Reader | None) -> None:
        self.reader = reader
        self.finish_reason: str | None = None
        self.annotated = False  # by the upstream itself: a second list of annotations breaks SDKs


class Streamed:
    """The upstream's bytes in, the client's bytes out; the same however the bytes were cut.

    `hide_usage`: usage was asked for by us, so every trace of it is taken out. `report`: JSON of a `context_report`,
    put on the first chunk. `watch`: what the answer is held against. `came` is told of every chunk, before anything is
    hidden or left out.
    """

    def __init__(
        self,
        *,
        hide_usage: bool,
        report: bytes | None,
        watch: Watch,
        came: Callable[[bytes], None] | None = None,
        keeps_text: bool = False,
    ) -> None:
        self.usage: dict[str, Any] | None = None
        self.failed: str | None = None  # an error's code, `upstream_error` for one that the upstream sent
        self.ended = False  # nothing more will come out
        self.text_chars = 0  # characters of content handed on, all choices together
        self._hide_usage = hide_usage
        self._report = report
        self._watch = watch
        self._came = came
        looks = watch.tools is not None or watch.taint is not None
        self._gate = calls.Gate(watch.tools, watch.taint) if looks else None
        self._whole = (0, 0)  # calls refused and tainted in messages that were said whole
        self._refused = False  # by what an answer says
        self._splitter = sse.Splitter()
        self._choices: dict[int, _Choice] = {}
        self._called: dict[tuple[int, int], str] = {}  # names so far, by choice and call
        self._text: list[str] | None = [] if keeps_text else None
        self._last = b"{}"

    @property
    def first_text_seen(self) -> bool:
        """Whether any character of an answer was handed on."""
        return self.text_chars > 0

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; of several, the one with the lowest index."""
        return next((choice.finish_reason for _, choice in sorted(self._choices.items())), None)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Every marker that was handed on, by choice and position."""
        return tuple(citation for reader in self._readers() for citation in reader.citations)

    @property
    def invented(self) -> tuple[str, ...]:
        """Labels that nobody admitted, each once a choice."""
        return tuple(label for reader in self._readers() for label in reader.invented)

    @property
    def foreign_links(self) -> tuple[Link, ...]:
        """Links to hosts that nobody trusted named, by choice."""
        return tuple(link for reader in self._readers() for link in reader.foreign_links)

    @property
    def calls_refused(self) -> int:
        """Calls that were not handed on."""
        return 0 if self._gate is None else max(self._gate.refused, self._whole[0])

    @property
    def calls_tainted(self) -> int:
        """Calls that say what only others said."""
        return 0 if self._gate is None else max(self._gate.tainted, self._whole[1])

    @property
    def calls(self) -> tuple[str, ...]:
        """Names of the calls that were handed on, each once."""
        return tuple(dict.fromkeys(filter(None, self._called.values())))

    @property
    def text(self) -> str:
        """All that was handed on, where it is kept; pieces of several choices as they came."""
        return "".join(self._text or ())

    def _readers(self) -> list[Reader]:
        return [choice.reader for _, choice in sorted(self._choices.items()) if choice.reader is not None]

    def feed(self, chunk: bytes) -> bytes:
        """What the client gets after these bytes of the upstream; often nothing, or the same."""
        if self.ended:
            return b""
        out = []
        for raw in self._splitter.feed(chunk):
            out.append(self._event(raw))
            if self.ended:
                break
        if self._splitter.pending + (self._gate.pending if self._gate is not None else 0) > EVENT_MAX:
            out.append(self.fail(UpstreamUnavailable("The upstream sent an event without an end.")))
        return b"".join(out)

    def finish(self) -> bytes:
        """The upstream's end of file. An answer that nobody finished was cut, and must not pass for a whole one."""
        out = [self._event(raw, whole=False) for raw in self._splitter.finish() if not self.ended]
        if not self.ended:
            out.append(self._end(_DONE))
        return b"".join(out)

    def fail(self, error: ElbowroomError) -> bytes:
        """What was held back, the error as an event, the end; nothing if the stream had ended."""
        if self.ended:
            return b""
        body = wire.error_body(error.status_hint, error.code, error.message, error.param)
        return self._fail(error.code, b"data: " + body + b"\n\n")

    def _fail(self, code: str, frame: bytes) -> bytes:
        held = [
            self._made(self._last, index, {"content": splice.quote(self._handed_on(text))})
            for index, choice in sorted(self._choices.items())
            if choice.reader is not None and choice.finish_reason is None and (text := choice.reader.finish())
        ]
        self.failed = code
        self.ended = True
        return b"".join(held) + frame + _DONE

    def _end(self, frame: bytes) -> bytes:
        held = self._passed(self._gate.finish()) if self._gate is not None else b""
        return held + self._ended(frame)

    def _ended(self, frame: bytes) -> bytes:
        if not self._choices or any(choice.finish_reason is None for choice in self._choices.values()):
            return self.fail(UpstreamUnavailable("The upstream closed the stream before the answer was complete."))
        self.ended = True
        return frame

    def _event(self, raw: bytes, *, whole: bool = True) -> bytes:
        event = sse.read(raw)
        if event.data is None:
            return event.relay
        if event.data.startswith(b"[DONE]"):  # as SDKs look for it
            return self._end(event.relay)
        chunk = splice.read(event.data, _CHUNK)
        if self._gate is not None and (calls.may_hold(event.data) if chunk is None else _unreadable(chunk)):
            return self.fail(UpstreamUnavailable(calls.UNREADABLE))
        if chunk is None:
            return event.relay if whole else b""  # not ours to judge; but half an event is none
        if chunk.error:
            return self._fail("upstream_error", event.relay)
        if self._came is not None:
            self._came(event.data)
        if self._gate is None:
            return self._relayed(event, event.data, chunk)
        data = event.data
        if any(piece.message is not None for piece in chunk.choices or ()):
            data = self._without_calls(chunk, data)
        return self._passed(self._gate.feed((event, chunk), data, _calls_in(chunk)))

    def _without_calls(self, chunk: _Chunk, data: bytes) -> bytes:
        """The chunk without calls that may not be in a message that it says whole, which need not be the end."""
        data, refused, tainted = calls.gated(data, self._watch.tools, self._watch.taint)
        for position, piece in enumerate(chunk.choices or ()):
            if refused and not piece.finish_reason:
                data = splice.replace(data, b"null", "choices", position, "finish_reason")
        self._whole = (self._whole[0] + refused, self._whole[1] + tainted)
        return data

    def _passed(self, released: Iterable[tuple[tuple[sse.Event, _Chunk], bytes]]) -> bytes:
        """What the gate has let go, in the order in which it came."""
        return b"".join(
            self._relayed(event, data, chunk if data is event.data else splice.read(data, _CHUNK) or chunk)
            for (event, chunk), data in released
        )

    def _relayed(self, event: sse.Event, came: bytes, chunk: _Chunk) -> bytes:
        if self.ended:
            return b""
        before, data = self._chunk(chunk, came)
        if data is event.data:
            return before + event.relay
        # Outside of strings, where JSON has none, a line end is white space.
        out = before + (event.head + b"data: " + data.replace(b"\n", b" ") + b"\n\n" if data else b"")
        return out + self.fail(InventedCitation(INVENTED)) if self._refused else out

    def _chunk(self, chunk: _Chunk, data: bytes) -> tuple[bytes, bytes]:
        """Chunks of our own to go first, and this one; empty where it is swallowed."""
        if isinstance(chunk.usage, dict):
            self.usage = chunk.usage
            if self._hide_usage and not chunk.choices:
                return b"", b""
        before = b""
        for position, piece in enumerate(chunk.choices or ()):
            first, data = self._piece(position, piece, data)
            before += first
        if self._hide_usage and chunk.usage is not UNSET:
            data = _without_usage(data)
        if self._report is not None and chunk.choices is not None:
            data, self._report = splice.add(data, "context_report", self._report), None
        return before, data

    def _piece(self, position: int, piece: _Piece, data: bytes) -> tuple[bytes, bytes]:
        index = piece.index or 0
        self._note_calls(index, piece.delta)
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice(Reader(self._watch) if self._watch.reads_text else None)
        said = contents.texts(piece.delta.content) if piece.delta is not None else []
        was_open = choice.finish_reason is None
        if piece.finish_reason and was_open:
            choice.finish_reason = str(piece.finish_reason)
        if choice.reader is None or not was_open:
            self._handed_on("".join(one.text for one in said))
            return b"", data
        self._last = data
        shown, rest = [choice.reader.feed(one.text) for one in said], ""
        choice.annotated = choice.annotated or (piece.delta is not None and bool(piece.delta.annotations))
        notes: dict[str, Any] = {}
        if choice.reader.refused:
            self._refused = True
            if choice.finish_reason is not None:
                choice.finish_reason = None
                data = splice.replace(data, b"null", "choices", position, "finish_reason")
        elif choice.finish_reason is not None:
            rest = choice.reader.finish()
            notes = _notes(choice.reader, annotated=choice.annotated)
        if said:
            shown[-1] += rest
            self._handed_on("".join(shown))
            return b"", _changed(data, position, said, shown, notes)
        # The finish chunk, as a rule: what is left goes before it.
        before = self._made(data, index, {"content": splice.quote(self._handed_on(rest))}) if rest else b""
        return before + (self._made(data, index, _encoded(notes)) if notes else b""), data

    def _note_calls(self, index: int, delta: _Delta | None) -> None:
        if delta is None or not (delta.tool_calls or delta.function_call):
            return
        listed = delta.tool_calls if isinstance(delta.tool_calls, list) else []
        for one in map(calls.entry, (*listed, {"function": delta.function_call})):
            # Where a server numbers none, each comes whole: another name is another call.
            key = (index, one.number if one.number is not None else -1 - len(self._called))
            if one.name:
                self._called[key] = self._called.get(key, "") + one.name

    def _handed_on(self, text: str) -> str:
        self.text_chars += len(text)
        if self._text is not None and text:
            self._text.append(text)
        return text

    @staticmethod
    def _made(like: bytes, index: int, delta: Mapping[str, bytes]) -> bytes:
        """A chunk of our own, in the envelope of one of the upstream's."""
        members = [like[child.start : child.end] for child in splice.children(like) if child.name in _ENVELOPE]
        said = b",".join(splice.quote(name) + b":" + value for name, value in delta.items())
        members.append(b'"choices":[{"index":%d,"delta":{%b},"finish_reason":null}]' % (index, said))
        return b"data: {" + b",".join(members) + b"}\n\n"


def _unreadable(chunk: _Chunk) -> bool:
    """Whether it says something in place of a call, or of a message that may hold some."""
    for piece in chunk.choices or ():
        delta, message = piece.delta or _Delta(), {} if piece.message is None else piece.message
        if calls.unreadable(delta.tool_calls, delta.function_call) or not isinstance(message, dict):
            return True
        if calls.unreadable(message.get("tool_calls"), message.get("function_call")):
            return True
    return False


def _calls_in(chunk: _Chunk) -> list[calls.Piece]:
    pieces = []
    for position, piece in enumerate(chunk.choices or ()):
        delta = piece.delta or _Delta()
        entries = delta.tool_calls if isinstance(delta.tool_calls, list) else []
        legacy = None if delta.function_call is None else calls.entry({"function": delta.function_call})
        numbered = [calls.entry(one) for one in entries]
        pieces.append(calls.Piece(position, piece.index or 0, numbered, legacy, bool(piece.finish_reason)))
    return pieces


def _changed(
    data: bytes, position: int, said: Sequence[contents.Text], shown: Sequence[str], notes: Mapping[str, Any]
) -> bytes:
    """The chunk with what is shown of its texts, and with the notes where it brings text and finish at once."""
    delta = ("choices", position, "delta")
    if said[0].path or data.count(b'"content"') != 1 or not (only := _CONTENT.search(data)):
        data = contents.replaced(data, said, shown, *delta)
    elif shown[0] != said[0].text:
        data = data[: only.start(1)] + splice.quote(shown[0]) + data[only.end(1) :]
    for name, value in _encoded(notes).items():
        data = splice.add(data, name, value, *delta)
    return data


def _notes(reader: Reader, *, annotated: bool) -> dict[str, Any]:
    """What is said beside an answer. SDKs that join lists from several chunks go by `index`."""
    entries = [] if annotated else reader.annotations()
    annotations = [{"index": index, **entry} for index, entry in enumerate(entries)]
    told = {"annotations": annotations, FLAGS: reader.flagged()}
    return {name: value for name, value in told.items() if value}


def _encoded(notes: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: splice.quote(value) for name, value in notes.items()}


def _without_usage(data: bytes) -> bytes:
    if data.count(b'"usage"') == 1 and (null := _NULL_USAGE.search(data)):
        return data[: null.start()] + data[null.end() :]
    return splice.without(data, "usage")
