"""JSON Lines as the commands read them: an object a line, and a fault where a line is none.

Knows: how a line is read, in which words its fault is told, and that one bad line does not stop the others.
Does not know: what the objects are, or what is made of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Row = dict[str, Any]
Made = TypeVar("Made")


def content(name: str) -> bytes:
    """The file's bytes; `-` is standard input. Raises `OSError`."""
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def objects(data: bytes) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """(line number, object) of each line that is not blank; instead of the object, what is wrong with the line."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield number, _object(line)


def judged(
    name: str, judge: Callable[[Row], Made | str], show: Callable[[Row, Made], None]
) -> tuple[int, list[tuple[Row, Made]]]:
    """The command's exit status, and each row of the file with what was made of it, shown as soon as it is.

    `judge` returns a word for a row of which nothing can be made: it is named on standard error and skipped. 0: none
    was. 1: some were. 2: there is nothing to read.
    """
    try:
        data = content(name)
    except OSError as error:
        print(f"{name}: {error.strerror}", file=sys.stderr)
        return 2, []
    status, done = 0, []
    for number, row in objects(data):
        made = row if isinstance(row, str) else judge(row)
        if isinstance(row, str) or isinstance(made, str):
            print(f"{name}:{number}: {made}", file=sys.stderr)
            status = 1
            continue
        done.append((row, made))
        show(row, made)
    return status, done


def _object(line: bytes) -> dict[str, Any] | str:
    try:
        value = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "not JSON that can be read: nested too deeply"
    return value if isinstance(value, dict) else "not a JSON object"
