"""Values that an operator does not want a model to see, dropped from a tool's JSON by their paths.

Knows: what a path means: names joined by dots, `*` for any name (one that is called so hides no other), and lists
passed through, so that `rows.mail` is the mail of every row.
Does not know: what the values are, or whose. A text of which nothing is dropped comes back as it is; else it is written
anew, and says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode
from elbowroom.read.rawjson import decode, unambiguous, whole


def without_paths(text: str, paths: Sequence[str]) -> tuple[str, int] | None:
    """The text without the values at these paths, and how many they were.

    JSON, or JSON on every line; None where it is neither, and nobody can say what stands where. Of a member that is
    given twice the second one is looked into, so where nothing is dropped there must be none.
    """
    found = _without(text, paths)
    if found is not None:
        return found
    lines = [_without(line, paths) if line.strip() else (line, 0) for line in text.split("\n")]
    kept = [line for line in lines if line is not None]
    if not text.strip() or len(kept) < len(lines):
        return None
    return "\n".join(line for line, _ in kept), sum(dropped for _, dropped in kept)


def _without(text: str, paths: Sequence[str]) -> tuple[str, int] | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = decode(whole(text).encode())
    except InvalidRequest:
        return None
    dropped = sum(_drop(value, path.split(".")) for path in paths)
    if dropped:
        return encode(value).decode(), dropped
    return (text, 0) if unambiguous(text) else None


def _drop(value: Any, path: Sequence[str]) -> int:
    """Drops them in place; how many. It does not call itself: a result may be as deep as a parser takes."""
    dropped, pending = 0, [(value, path)]
    while pending:
        one, (name, *rest) = pending.pop()
        if isinstance(one, list):
            pending += [(inside, (name, *rest)) for inside in one]
        elif isinstance(one, dict):
            names = list(one) if name == "*" else [name] if name in one else []
            if rest:
                pending += [(one[inside], rest) for inside in names]
                continue
            dropped += len(names)
            for gone in names:
                del one[gone]
    return dropped
