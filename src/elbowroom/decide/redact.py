"""Values that an operator does not want a model to see, dropped from a tool's JSON by their paths.

Knows: what a path means: names joined by dots, `*` for any name (one that is called so hides no other), lists passed
through, so that `rows.mail` is the mail of every row; and that a name with hidden characters in it will lose them.
Does not know: what the values are, or whose. A text of which nothing is dropped comes back as it is; else it is written
anew, and says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elbowroom.clean.sanitise import sanitise
from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode
from elbowroom.read.rawjson import decode, sequence, unambiguous, whole


def without_paths(text: str, paths: Sequence[str]) -> tuple[str, int] | None:
    """The text without the values at these paths, and how many they were.

    JSON, JSON on every line, or values one behind another; None where it is none of these, and nobody can say what
    stands where. Of a member that is given twice the second one is looked into, so where nothing is dropped there must
    be none.
    """
    if not text.strip():
        return None
    return _without(text, paths) or _joined(text.split("\n"), paths) or _joined(sequence(text), paths)


def _joined(pieces: Sequence[str], paths: Sequence[str]) -> tuple[str, int] | None:
    """The same of each piece, one a line."""
    kept = [_without(piece, paths) if piece.strip() else (piece, 0) for piece in pieces]
    found = [one for one in kept if one is not None]
    if not kept or len(found) < len(kept):
        return None
    return "\n".join(piece for piece, _ in found), sum(dropped for _, dropped in found)


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


def _seen(name: str) -> str:
    """The name as it is shown later, without its hidden characters."""
    return name if name.isascii() and name.isprintable() else sanitise(name).text


def _drop(value: Any, path: Sequence[str]) -> int:
    """Drops them in place; how many. It does not call itself: a result may be as deep as a parser takes."""
    dropped, pending = 0, [(value, 0)]
    known: dict[tuple[str, ...], list[str]] = {}  # most rows have the same names
    while pending:
        one, at = pending.pop()
        if isinstance(one, list):
            pending += [(inside, at) for inside in one]
        elif isinstance(one, dict):
            name, row = path[at], (path[at], *one)
            if row not in known:
                known[row] = [inside for inside in one if name in ("*", inside) or _seen(inside) == name]
            if at + 1 < len(path):
                pending += [(one[inside], at + 1) for inside in known[row]]
                continue
            dropped += len(known[row])
            for gone in known[row]:
                del one[gone]
    return dropped
