"""Records of requests, found again: newest first, or by an id.

Knows: the files that `jsonl` writes, whichever process wrote them, and that a last line may be torn.
Does not know: what the records say, beyond the ids and the time they are found by.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from elbowroom_proxy.sinks.line import decode, plain

IDS = ("trace_id", "request_id", "client_request_id")
BLOCK = 1 << 16  # bytes read at once, from a file's end


def newest_first(folder: Path, containing: str = "") -> Iterator[dict[str, Any]]:
    """Every record of the folder, the latest request first; only those that say `containing`, where that is given.

    No folder, no records. A line that is no JSON object is passed over: the last one may be half written.
    """
    files = sorted(folder.glob("*.jsonl"), key=_day, reverse=True)
    for _, same_day in groupby(files, key=_day):
        yield from heapq.merge(*(_records(path, containing) for path in same_day), key=_time, reverse=True)


def find(folder: Path, ident: str) -> dict[str, Any] | None:
    """The latest record with this trace id, `x-request-id` or `x-client-request-id`; None where there is none."""
    return next((one for one in newest_first(folder, ident) if ident in (one.get(name) for name in IDS)), None)


def backwards(path: Path) -> Iterator[bytes]:
    """The complete lines of a file without their line feeds, last first; what follows the last line feed is torn."""
    at = path.stat().st_size
    tail: bytes | None = None  # the rest of a line whose beginning is not read yet; None until a line feed is seen
    while at > 0:
        size = min(BLOCK, at)
        at -= size
        with path.open("rb") as file:  # anew each time: who stops early leaves nothing open
            file.seek(at)
            first, *lines = file.read(size).split(b"\n")
        if lines:
            if tail is not None:
                yield lines[-1] + tail
            yield from reversed(lines[:-1])
            tail = first
        elif tail is not None:
            tail = first + tail
    if tail is not None:
        yield tail


def day_of(path: Path) -> str | None:
    """The day of a file's last record, which its name should say as well; None where there is none, or it says none."""
    last = next(backwards(path), None)
    time = (plain(last) or {}).get("time") if last is not None else None
    return time[:10] if isinstance(time, str) else None


def _records(path: Path, containing: str) -> Iterator[dict[str, Any]]:
    # An id is written as JSON writes it; what needs an escape is written in more ways than one, so is not sought.
    sought = containing.encode() if containing.isascii() and json.dumps(containing) == f'"{containing}"' else b""
    for line in backwards(path):
        if sought in line:
            record = decode(line)
            if record is not None:
                yield record


def _day(path: Path) -> str:
    return path.name[:10]


def _time(record: dict[str, Any]) -> str:
    return str(record.get("time"))
