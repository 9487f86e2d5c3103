"""JSON Lines as the commands read them: an object a line, and a fault where a line is none.

Knows: how a line is read, and in which words its fault is told.
Does not know: what the objects are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def content(name: str) -> bytes:
    """The file's bytes; `-` is standard input. Raises `OSError`."""
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def objects(data: bytes) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """(line number, object) of each line that is not blank; instead of the object, what is wrong with the line."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    return value if isinstance(value, dict) else "not a JSON object"
