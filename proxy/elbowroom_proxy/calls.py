"""Calls that a model makes to tools which the request did not have: they never reach the client.

Knows: how a call comes in pieces (its name perhaps too), when a name is whole, and how what stays is numbered anew.
Does not know: why a tool is not there, what a call would do, or anything else in an answer.

A chunk whose call has no whole name yet is held, and with it whatever comes behind it, so that the order stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from elbowroom_proxy import splice

FILTERED = b'"content_filter"'
_LEGACY = "function_call"


class Entry(NamedTuple):
    """One call, or a piece of one, as a list of calls holds it."""

    number: int | None
    name: str
    said: bool  # it has arguments, so its name is whole


def entry(value: Any) -> Entry:
    """Reads it; what is no call has no name."""
    call = value if isinstance(value, dict) else {}
    called = call.get("custom") if isinstance(call.get("custom"), dict) else call.get("function")
    called = called if isinstance(called, dict) else {}
    index, name = call.get("index"), called.get("name")
    return Entry(
        index if isinstance(index, int) else None,
        name if isinstance(name, str) else "",
        bool(called.get("arguments") or called.get("input")),
    )


class _Call:
    """One call of one choice. `place`: its new index; None where it is refused."""

    __slots__ = ("decided", "name", "place")

    def __init__(self) -> None:
        self.name = ""
        self.decided = False
        self.place: int | None = None


class _Choice:
    __slots__ = ("calls", "kept", "last", "refused")

    def __init__(self) -> None:
        self.calls: dict[int | str, _Call] = {}
        self.last: int | str | None = None
        self.kept = 0
        self.refused = 0


class Piece(Struct):
    """What a chunk says of one choice, as far as it matters here."""

    position: int  # in the chunk
    index: int  # of the choice
    entries: Sequence[Entry]
    legacy: Entry | None  # a `function_call`, the older form
    finished: bool


class _Part(NamedTuple):
    """A piece and the call of each of its entries; None: an entry that goes whatever becomes of its call."""

    piece: Piece
    choice: _Choice
    calls: list[_Call | None]
    legacy: _Call | None


class Gate:
    """One answer's, all choices together. `names` are the tools that may be called."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._choices: dict[int, _Choice] = {}
        self._held: list[tuple[Any, bytes, list[_Part]]] = []
        self.pending = 0  # bytes held

    @property
    def refused(self) -> int:
        """Calls that were left out so far."""
        return sum(choice.refused for choice in self._choices.values())

    def feed(self, ticket: Any, data: bytes, pieces: Sequence[Piece]) -> Iterator[tuple[Any, bytes]]:
        """The chunks that may go on now, each with the ticket it came with; unchanged ones are the same object."""
        parts = [part for piece in pieces if (part := self._learn(piece)) is not None]
        if not parts and not self._held:
            yield ticket, data
            return
        self._held.append((ticket, data, parts))
        self.pending += len(data)
        yield from self._release()

    def finish(self) -> Iterator[tuple[Any, bytes]]:
        """The end: every name is as whole as it will ever be."""
        for choice in self._choices.values():
            self._decide_all(choice)
        yield from self._release()

    def _learn(self, piece: Piece) -> _Part | None:
        choice = self._choices.get(piece.index)
        if choice is None:
            if not piece.entries and piece.legacy is None:
                return None
            choice = self._choices[piece.index] = _Choice()
        calls = [self._call(choice, one, _key(choice, one)) for one in piece.entries]
        legacy = None if piece.legacy is None else self._call(choice, piece.legacy, _LEGACY)
        if piece.finished:
            self._decide_all(choice)
        return _Part(piece, choice, calls, legacy) if calls or piece.legacy or piece.finished else None

    def _call(self, choice: _Choice, one: Entry, key: int | str) -> _Call | None:
        if key not in choice.calls:
            self._decide_all(choice)  # another one begins, so the names before it are whole
            choice.calls[key] = _Call()
        choice.last = key
        call = choice.calls[key]
        if call.decided:
            return None if one.name else call  # a name cannot change once it was believed
        call.name += one.name
        if one.said:
            self._decide(choice, call)
        return call

    def _decide_all(self, choice: _Choice) -> None:
        for call in choice.calls.values():
            if not call.decided:
                self._decide(choice, call)

    def _decide(self, choice: _Choice, call: _Call) -> None:
        call.decided = True
        if call.name in self._names:
            call.place = choice.kept
            choice.kept += 1
        else:
            choice.refused += 1

    def _release(self) -> Iterator[tuple[Any, bytes]]:
        while self._held:
            ticket, data, parts = self._held[0]
            if any(call is not None and not call.decided for part in parts for call in (*part.calls, part.legacy)):
                return
            del self._held[0]
            self.pending -= len(data)
            for part in parts:
                data = _rewritten(data, part)
            yield ticket, data


def _key(choice: _Choice, one: Entry) -> int | str:
    """Which call an entry belongs to: some servers number none, and send each whole."""
    if one.number is not None:
        return one.number
    if one.name or choice.last is None:
        return f"unnumbered {len(choice.calls)}"
    return choice.last


def _rewritten(data: bytes, part: _Part) -> bytes:
    piece, path = part.piece, ("choices", part.piece.position)
    places = [None if call is None else call.place for call in part.calls]
    if any(one.number not in (None, place) or place is None for one, place in zip(piece.entries, places, strict=True)):
        data = renumbered(data, places, *path, "delta")
    if piece.legacy is not None and (part.legacy is None or part.legacy.place is None):
        data = splice.without(data, _LEGACY, *path, "delta")
    if piece.finished and part.choice.refused and not part.choice.kept:
        data = splice.replace(data, FILTERED, *path, "finish_reason")
    return data


def renumbered(data: bytes, places: Sequence[int | None], *path: str | int) -> bytes:
    """The same with only those of `tool_calls` that have a place, numbered by it where they were numbered."""
    at = splice.find(data, *path, "tool_calls")
    kept = []
    for child, place in zip(splice.children(data, at.value), places, strict=True):
        if place is not None:
            raw = data[child.value : child.end]
            has_index = any(member.name == "index" for member in splice.children(raw))
            kept.append(splice.replace(raw, b"%d" % place, "index") if has_index else raw)
    if not kept:
        return splice.without(data, "tool_calls", *path)
    return data[: at.value] + b"[" + b",".join(kept) + b"]" + data[at.end :]


class _Message(Struct):
    tool_calls: Any = None
    function_call: Any = None


class _Answer(Struct):
    message: _Message | None = None


class _Completion(Struct):
    choices: list[_Answer] | None = None


_COMPLETION = msgspec.json.Decoder(_Completion)


def gated(body: bytes, names: Collection[str]) -> tuple[bytes, int]:
    """A whole answer without the calls to other tools, and how many those were."""
    completion = splice.read(body, _COMPLETION)
    refused = 0
    for position, answer in enumerate((completion.choices or ()) if completion is not None else ()):
        message, path = answer.message or _Message(), ("choices", position)
        calls = message.tool_calls if isinstance(message.tool_calls, list) else []
        places = [at if entry(call).name in names else None for at, call in enumerate(calls)]
        legacy = isinstance(message.function_call, dict) and message.function_call.get("name") not in names
        gone = places.count(None) + legacy
        if not gone:
            continue
        refused += gone
        if None in places:
            body = renumbered(body, places, *path, "message")
        if legacy:
            body = splice.without(body, _LEGACY, *path, "message")
        if gone == len(places) + isinstance(message.function_call, dict):
            body = splice.replace(body, FILTERED, *path, "finish_reason")
    return body, refused
