"""JSON put together again from its members' bytes, and one message with another text in it.

Knows: where a chat message keeps its text (a string, or text parts), and that what is not edited moves as bytes.
Does not know: why anything was changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from elbowroom.read.rawjson import members
from elbowroom.records import Message


def encode(value: Any) -> bytes:
    """JSON as compact as it gets; a lone surrogate, which UTF-8 cannot hold, as the escape it came as."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def join_members(values: Mapping[str, bytes]) -> bytes:
    """The JSON object of these members."""
    return b"{" + b",".join(encode(name) + b":" + value for name, value in values.items()) + b"}"


def with_text(message: Message, text: str, *, alone: bool = False) -> Message:
    """The message with `text` for its text, in the form its content had: a string, or one text part before the rest, of
    which nothing stays where the text is to stand `alone`.
    """
    content: Any = message.value.get("content")
    if isinstance(content, list):
        others = [part for part in content if not alone and not isinstance(part.get("text"), str)]
        content = [{"type": "text", "text": text}, *others]
    else:
        content = text
    raw = join_members({**members(message.raw), "content": encode(content)})
    return Message(raw, {**message.value, "content": content})
