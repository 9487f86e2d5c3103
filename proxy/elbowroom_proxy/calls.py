"""Calls that never reach the client: to tools which the request did not have, and tainted ones where they are blocked.

Knows: how a call comes in pieces (its name perhaps too, or in each of them), when a name is whole, and how what stays
is numbered anew.
Does not know: why a tool is not there, what makes a call tainted, or anything else in an answer.

A chunk whose call has no whole name yet is held, or no whole arguments where these decide, and with it whatever comes
behind it, so that the order stays.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from elbowroom.errors import UpstreamUnavailable
from elbowroom.write.taint import Taint
from elbowroom_proxy import splice

FILTERED = b'"content_filter"'
UNREADABLE = "The upstream sent a call that cannot be read."
_LEGACY = "function_call"


class Entry(NamedTuple):
    """One call, or a piece of one, as a list of calls holds it."""

    number: int | None
    name: str
    arguments: str  # where it has some, a name that has begun is whole
    ident: str = ""


def may_hold(data: bytes) -> bool:
    """Whether what cannot be read may hold a call, which a more patient reader might find in it, UTF-16 or not."""
    data = data.replace(b"\0", b"")
    return b"tool_calls" in data or _LEGACY.encode() in data


def unreadable(tool_calls: Any, function_call: Any) -> bool:
    """Whether a message's calls are something else than calls."""
    return bool(tool_calls and not isinstance(tool_calls, list)) or bool(
        function_call and not isinstance(function_call, dict)
    )


def entry(value: Any) -> Entry:
    """Reads it, as clients do by its type; what is no call has no name."""
    call = value if isinstance(value, dict) else {}
    kinds = ("custom", "function") if call.get("type") == "custom" else ("function", "custom")
    called: dict[str, Any] = next((one for kind in kinds if isinstance(one := call.get(kind), dict)), {})
    index, name, ident = call.get("index"), called.get("name"), call.get("id")
    return Entry(
        index if isinstance(index, int) else None,
        name if isinstance(name, str) else "",
        _text(called.get("arguments") or called.get("input")),
        ident if isinstance(ident, str) else "",
    )


def _text(arguments: Any) -> str:
    if not arguments:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class _Call:
    """One call of one choice. `place`: its new index; None where it is refused."""

    __slots__ = ("arguments", "decided", "ident", "judged", "name", "named", "place")

    def __init__(self) -> None:
        self.name = ""
        self.ident = ""
        self.arguments: list[str] = []
        self.named = False  # the name is whole
        self.decided = False
        self.judged = False
        self.place: int | None = None


class _Choice:
    __slots__ = ("calls", "kept", "last", "numbered", "refused")

    def __init__(self) -> None:
        self.calls: dict[int | str, _Call] = {}
        self.numbered: dict[int, int | str] = {}  # of calls that share a number, the latest
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
    again: list[bool]  # which entries say the name that their call has already


class Gate:
    """One answer's, all choices together. `names` are the tools that may be called; None: any. `taint` judges calls."""

    def __init__(self, names: Collection[str] | None, taint: Taint | None = None) -> None:
        self._names = names
        self._taint = taint
        self._choices: dict[int, _Choice] = {}
        self._held: list[tuple[Any, bytes, list[_Part]]] = []
        self.pending = 0  # bytes held
        self.tainted = 0  # calls so far that say what only others said

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
        """The end: every name, and every call, is as whole as it will ever be."""
        for choice in self._choices.values():
            self._settle(choice, whole=True)
        yield from self._release()

    def _learn(self, piece: Piece) -> _Part | None:
        choice = self._choices.get(piece.index)
        if choice is None:
            if not piece.entries and piece.legacy is None:
                return None
            choice = self._choices[piece.index] = _Choice()
        found = [self._call(choice, one, _key(choice, one)) for one in piece.entries]
        legacy = None if piece.legacy is None else self._call(choice, piece.legacy, _LEGACY)[0]
        self._settle(choice, whole=piece.finished)
        calls, again = [call for call, _ in found], [again for _, again in found]
        return _Part(piece, choice, calls, legacy, again) if calls or piece.legacy or piece.finished else None

    def judge(self, choice: _Choice, one: Entry) -> _Call:
        """A call that came whole, at once."""
        call = choice.calls[len(choice.calls)] = _Call()
        call.name, call.arguments = one.name, [one.arguments]
        self._settle(choice, whole=True)
        return call

    def _call(self, choice: _Choice, one: Entry, key: int | str) -> tuple[_Call | None, bool]:
        """The call that an entry belongs to, and whether it only says the name once more."""
        if key not in choice.calls:
            for before in choice.calls.values():
                before.named = True  # another one begins
            choice.calls[key] = _Call()
        choice.last = key
        call = choice.calls[key]
        again = one.name != "" and key != _LEGACY and self._says_again(call, one.name)
        if (call.named and one.name and not again) or (call.judged and one.arguments):
            return None, False  # neither a name nor a call can change once it was believed
        call.name += "" if again else one.name
        call.ident = call.ident or one.ident
        if self._taint is not None:
            call.arguments.append(one.arguments)
        call.named = call.named or bool(one.arguments and call.name)
        return call, again

    def _says_again(self, call: _Call, name: str) -> bool:
        """Some servers say the whole name in each piece, and clients differ in what they make of it."""
        doubled = not call.named and self._names is not None and name + name in self._names
        return name == call.name and self._may_call(name) and not doubled

    def _settle(self, choice: _Choice, *, whole: bool) -> None:
        """Decides what can be decided, in order, since a call's new number is known by those before it."""
        waits = False
        for call in choice.calls.values():
            call.named = call.named or whole
            tainted = whole and self._is_tainted(call)
            waits = waits or not call.named or (not whole and not call.decided and self._blocks(call))
            if call.decided or waits:
                continue
            call.decided = True
            if self._may_call(call.name) and not (tainted and self._blocks(call)):
                call.place = choice.kept
                choice.kept += 1
            else:
                choice.refused += 1

    def _may_call(self, name: str) -> bool:
        return self._names is None or name in self._names

    def _blocks(self, call: _Call) -> bool:
        return self._taint is not None and self._taint.blocks and call.name in self._taint.tools

    def _is_tainted(self, call: _Call) -> bool:
        if self._taint is None or call.judged or not self._may_call(call.name):
            return False
        call.judged = True
        tainted = self._taint(call.name, "".join(call.arguments))
        self.tainted += tainted
        return tainted

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
    """Which call an entry belongs to: some servers number none, and send each whole; some give all the same number, and
    each its own id.
    """
    if one.number is None:
        return f"unnumbered {len(choice.calls)}" if one.name or choice.last is None else choice.last
    key = choice.numbered.get(one.number, one.number)
    before = choice.calls.get(key)
    if before is not None and before.ident and one.ident not in ("", before.ident) and one.name:
        key = choice.numbered[one.number] = f"{one.number} {len(choice.calls)}"
    return key


def _rewritten(data: bytes, part: _Part) -> bytes:
    piece, path = part.piece, ("choices", part.piece.position)
    places = [None if call is None else call.place for call in part.calls]
    moved = (one.number not in (None, place) or place is None for one, place in zip(piece.entries, places, strict=True))
    if any(part.again) or any(moved):
        data = renumbered(data, places, *path, "delta", again=part.again)
    if piece.legacy is not None and (part.legacy is None or part.legacy.place is None):
        data = splice.without(data, _LEGACY, *path, "delta")
    if piece.finished and part.choice.refused and not part.choice.kept:
        data = splice.replace(data, FILTERED, *path, "finish_reason")
    return data


def renumbered(
    data: bytes, places: Sequence[int | None], *path: str | int, again: Sequence[bool] | None = None
) -> bytes:
    """The same with only those of `tool_calls` that have a place, numbered by it where they were numbered, and without
    the name where that is said `again`.
    """
    at = splice.find(data, *path, "tool_calls")
    kept = []
    for position, (child, place) in enumerate(zip(splice.children(data, at.value), places, strict=True)):
        if place is not None:
            raw = data[child.value : child.end]
            raw = _unnamed(raw) if again and again[position] else raw
            has_index = any(member.name == "index" for member in splice.children(raw))
            kept.append(splice.replace(raw, b"%d" % place, "index") if has_index else raw)
    if not kept:
        return splice.without(data, "tool_calls", *path)
    return data[: at.value] + b"[" + b",".join(kept) + b"]" + data[at.end :]


def _unnamed(raw: bytes) -> bytes:
    """An entry without its name."""
    named = [one for one in splice.children(raw) if one.name in ("function", "custom") and raw[one.value] in b"{"]
    for one in named:
        raw = splice.without(raw, "name", one.name)
    return raw


class _Message(Struct):
    tool_calls: Any = None
    function_call: Any = None


class _Answer(Struct):
    message: _Message | None = None


class _Completion(Struct):
    choices: list[_Answer] | None = None


_COMPLETION = msgspec.json.Decoder(_Completion)


def gated(body: bytes, names: Collection[str] | None, taint: Taint | None = None) -> tuple[bytes, int, int]:
    """A whole answer without the calls that may not be, how many those were, and how many calls were tainted.

    Raises `UpstreamUnavailable` for one that cannot be read and may hold some.
    """
    completion = splice.read(body, _COMPLETION)
    if completion is None and may_hold(body):
        raise UpstreamUnavailable(UNREADABLE)
    refused = tainted = 0
    for position, answer in enumerate((completion.choices or ()) if completion is not None else ()):
        message, path = answer.message or _Message(), ("choices", position)
        if unreadable(message.tool_calls, message.function_call):
            raise UpstreamUnavailable(UNREADABLE)
        gate, choice = Gate(names, taint), _Choice()
        listed = message.tool_calls if isinstance(message.tool_calls, list) else []
        calls = [gate.judge(choice, entry(call)) for call in listed]
        legacy = None
        if isinstance(message.function_call, dict):
            legacy = gate.judge(choice, entry({"function": message.function_call}))
        tainted += gate.tainted
        if not choice.refused:
            continue
        refused += choice.refused
        places = [call.place for call in calls]
        if None in places:
            body = renumbered(body, places, *path, "message")
        if legacy is not None and legacy.place is None:
            body = splice.without(body, _LEGACY, *path, "message")
        if not choice.kept:
            body = splice.add(splice.without(body, "finish_reason", *path), "finish_reason", FILTERED, *path)
    return body, refused, tainted
