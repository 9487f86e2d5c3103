"""What of an answer came, as text: what is charged for where nobody said what the answer took.

Knows: where texts stand in chat completions, whole and in chunks, and in the events of a response; what of an answer
shows no text of its own.
Does not know: tokens, prices, or what of it the client was shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from elbowroom_proxy import splice

CHOICE: Final = 8  # tokens of one answer that no text shows: role and end
CALL: Final = 16  # tokens of one call beside its name and arguments
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


class _Choice(Struct):
    index: int | None = None
    delta: Any = None
    message: Any = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None


class _Event(Struct):
    delta: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk)
_EVENT = msgspec.json.Decoder(_Event)


class Delivered:
    """One answer's, all choices together."""

    def __init__(self) -> None:
        self.opaque = False  # something came whose tokens no text shows, or what came cannot be read
        self.framing = 0  # tokens beside the texts
        self._texts: dict[int, list[str]] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """One a choice."""
        return tuple("".join(pieces) for pieces in self._texts.values())

    def whole(self, data: bytes) -> None:
        """A chat completion in one piece."""
        self.chat(data)
        self.opaque = self.opaque or not self._texts

    def chat(self, data: bytes) -> None:
        """A chunk of a chat completion; what is none is passed over."""
        chunk = splice.read(data, _CHUNK)
        for choice in (chunk.choices or ()) if chunk is not None else ():
            said = choice.message if choice.delta is None else choice.delta
            if isinstance(said, dict):
                self._add(choice.index or 0, _texts(said))
                # Of a call that comes in pieces, the first brings its name.
                self.framing += CALL * sum(bool(call.get("name")) for call in _calls(said))
                self.opaque = self.opaque or said.get("audio") is not None

    def response(self, data: bytes) -> None:
        """An event of a response: whatever is generated comes in pieces called `delta`."""
        event = splice.read(data, _EVENT)
        if event is not None and isinstance(event.delta, str):
            self._add(0, [event.delta])

    def _add(self, index: int, texts: Iterator[str] | list[str]) -> None:
        if index not in self._texts:
            self._texts[index] = []
            self.framing += CHOICE
        self._texts[index].extend(texts)


def _texts(said: dict[str, Any]) -> Iterator[str]:
    for name in _TEXTS:
        value = said.get(name)
        for part in value if isinstance(value, list) else [value]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text
    for call in _calls(said):
        for value in call.values():
            if isinstance(value, str):
                yield value


def _calls(said: dict[str, Any]) -> list[dict[str, Any]]:
    """Name and arguments of each call, or of the pieces of one."""
    listed = said.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    called = [call.get("function") or call.get("custom") for call in calls]
    return [one for one in (*called, said.get("function_call")) if isinstance(one, dict)]
