"""JSON objects taken apart and put together by their members' bytes, and one message with another text in it.

Knows: where a chat message keeps its text (a string, or text parts), and that what is not edited moves as bytes.
Does not know: why anything was changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from elbowroom.records import Message

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALUE = json.JSONDecoder()
_SPACE = " \t\n\r"


def encode(value: Any) -> bytes:
    """JSON as compact as it gets; a lone surrogate, which UTF-8 cannot hold, as the escape it came as."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def members(raw: bytes) -> dict[str, bytes]:
    """The members of a JSON object known to be one, in their order, each value byte for byte."""
    try:
        return {name: bytes(value) for name, value in _MEMBERS.decode(raw).items()}
    except msgspec.DecodeError:  # it refuses lone surrogates even as escapes
        return _members_with_surrogates(raw.decode().strip(_SPACE))


def join_members(values: Mapping[str, bytes]) -> bytes:
    """The JSON object of these members."""
    return b"{" + b",".join(encode(name) + b":" + value for name, value in values.items()) + b"}"


def with_text(message: Message, text: str) -> Message:
    """The message with `text` for its text, in the form its content had: a string, or one text part before the rest."""
    content: Any = message.value.get("content")
    if isinstance(content, list):
        others = [part for part in content if not isinstance(part.get("text"), str)]
        content = [{"type": "text", "text": text}, *others]
    else:
        content = text
    raw = join_members({**members(message.raw), "content": encode(content)})
    return Message(raw, {**message.value, "content": content})


def _members_with_surrogates(text: str) -> dict[str, bytes]:
    found = {}
    at = _after_space(text, 1)
    while text[at] != "}":
        name, at = _VALUE.raw_decode(text, at)
        start = _after_space(text, _after_space(text, at) + 1)
        _, at = _VALUE.raw_decode(text, start)
        found[name] = text[start:at].encode()
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return found


def _after_space(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
