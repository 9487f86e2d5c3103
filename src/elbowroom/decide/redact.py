"""Values that an operator does not want a model to see, dropped from a tool's JSON by their paths.

Knows: what a path means: names joined by dots, `*` for any name, and lists passed through, so that `rows.mail` is the
mail of every row.
Does not know: what the values are, or whose. All other bytes stay as they came.
"""

from __future__ import annotations

from collections.abc import Sequence

from elbowroom.errors import InvalidRequest
from elbowroom.read.message import join_members
from elbowroom.read.rawjson import elements, members


def without_paths(text: str, paths: Sequence[str]) -> tuple[str, int] | None:
    """The text without the values at these paths, and how many they were.

    JSON, or JSON on every line; None where it is neither, and nobody can say what stands where.
    """
    found = _without(text, paths)
    if found is not None:
        return found
    lines = [_without(line, paths) if line.strip() else (line, 0) for line in text.split("\n")]
    if not text.strip() or any(line is None for line in lines):
        return None
    kept = [line for line in lines if line is not None]
    return "\n".join(line for line, _ in kept), sum(dropped for _, dropped in kept)


def _without(text: str, paths: Sequence[str]) -> tuple[str, int] | None:
    raw = text.strip().encode("utf-8", "surrogatepass")
    if not raw.startswith((b"{", b"[")):
        return None
    dropped = 0
    try:
        for path in paths:
            raw, gone = _drop(raw, path.split("."))
            dropped += gone
    except InvalidRequest:
        return None
    return (raw.decode("utf-8", "surrogatepass"), dropped) if dropped else (text, 0)


def _drop(raw: bytes, path: Sequence[str]) -> tuple[bytes, int]:
    if raw.startswith(b"["):
        rows = [_drop(row, path) for row in elements(raw)]
        gone = sum(dropped for _, dropped in rows)
        return (b"[" + b",".join(row for row, _ in rows) + b"]", gone) if gone else (raw, 0)
    if not raw.startswith(b"{"):
        return raw, 0
    name, *rest = path
    kept: dict[str, bytes] = {}
    gone = 0
    for member, value in members(raw).items():
        if name not in ("*", member):
            kept[member] = value
        elif rest:
            kept[member], dropped = _drop(value, rest)
            gone += dropped
        else:
            gone += 1
    return (join_members(kept), gone) if gone else (raw, 0)
