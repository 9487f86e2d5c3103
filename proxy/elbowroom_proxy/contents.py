"""What an answer says in its `content`: a text, or parts of which some are texts.

Knows: where the texts stand in it, and how one of them is put in another's place.
Does not know: what is in a text. A part of another kind, such as a model's thinking, is nobody's text here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from elbowroom_proxy import splice

Path = tuple[str | int, ...]


class Text(NamedTuple):
    """One text, and its place below `content`: nowhere where it is the whole of it."""

    text: str
    path: Path


def texts(content: Any) -> list[Text]:
    """Those that are not empty, in order. Read one after another they are what the answer says."""
    if isinstance(content, str):
        return [Text(content, ())] if content else []
    if not isinstance(content, list):
        return []
    found: list[Text] = []
    for at, part in enumerate(content):
        text, path = (part.get("text"), (at, "text")) if isinstance(part, dict) else (part, (at,))
        if isinstance(text, str) and text:
            found.append(Text(text, path))
    return found


def replaced(data: bytes, said: Sequence[Text], shown: Sequence[str], *path: str | int) -> bytes:
    """The JSON with what is `shown` of each text. `path` leads to what has the `content`."""
    for one, text in zip(said, shown, strict=True):
        if text != one.text:
            data = splice.replace(data, splice.quote(text), *path, "content", *one.path)
    return data
