"""A record as one line of JSON, and back.

Knows: that a line holds no line feed, that a client's id may hold half a surrogate pair, and that an old record is read
as if it were new.
Does not know: files, or what is in a record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from elbowroom.account.convert import convert


def encode(record: Mapping[str, Any]) -> bytes:
    """Without a line feed at its end. What UTF-8 cannot say is kept as its escape."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def decode(line: bytes) -> dict[str, Any] | None:
    """The record in the present version; None where the line is none, half written for instance."""
    record = plain(line)
    return None if record is None else convert(record)


def plain(line: bytes) -> dict[str, Any] | None:
    """The record as it was written; None where the line is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
