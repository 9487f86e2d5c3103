"""Records in a chain: whoever changes, removes or moves one, without the key, is found out.

Knows: how a line carries its place, how a head is signed, and what a file that was removed on purpose leaves behind.
Does not know: files, clocks, what is in a record, or how a whole folder is proved (`proof`).

A line is the record's own JSON with one more member at its end, `"chain":"writer:n:mac"`. The mac is of the mac before,
the place and the record's bytes, so it speaks for everything that the writer wrote until then.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

_PLACE = re.compile(rb',"chain":"([0-9a-f]{12}):([0-9]{1,18}):([0-9a-f]{64})"\}')
_HEAD = re.compile(r"\b([0-9a-f]{12}):([0-9]{1,18}):([0-9a-f]{64}):([0-9a-f]{64})\b")
_SEAL = re.compile(rb',"seal":"([0-9a-f]{64})"\}')


class Head(NamedTuple):
    """How far a writer's chain reaches: its last line speaks for all before it."""

    writer: str  # 12 hexadecimal digits, one process's
    n: int  # lines
    mac: str  # of the last of them, in hexadecimal


class Line(NamedTuple):
    """A line taken apart."""

    body: bytes  # the record as it was written
    head: Head


class Removed(Struct, frozen=True, kw_only=True):
    """A file that was removed on purpose: what is left of it, signed, so that the rest can still be proved."""

    file: str
    writer: str
    first: int  # of its lines
    last: int
    mac: str  # of its last line
    why: str  # "age" or "size"
    time: str  # RFC 3339, UTC


class Chain:
    """One writer's, as far as it is written."""

    def __init__(self, key: bytes, writer: str) -> None:
        self.head = start(key, writer)
        self._key = key

    def link(self, body: bytes) -> bytes:
        """The line for a record, a JSON object with a member at least; without a line feed."""
        head = self.head = follow(self._key, self.head, body)
        return b'%b,"chain":"%b:%d:%b"}' % (body[:-1], head.writer.encode(), head.n, head.mac.encode())


def start(key: bytes, writer: str) -> Head:
    """Before the first line."""
    return Head(writer, 0, _mac(key, b"start", writer.encode()))


def follow(key: bytes, head: Head, body: bytes) -> Head:
    """After one more record."""
    n = head.n + 1
    return Head(head.writer, n, _mac(key, b"line", f"{head.mac}:{head.writer}:{n}:".encode() + body))


def parse(line: bytes) -> Line | None:
    """A line taken apart, nothing proved yet; None where it has no place in a chain."""
    at = line.rfind(b',"chain":"')
    place = _PLACE.fullmatch(line, at) if at >= 0 else None
    if place is None:
        return None
    writer, n, mac = place.groups()
    return Line(line[:at] + b"}", Head(writer.decode(), int(n), mac.decode()))


def signed(key: bytes, head: Head) -> str:
    """The head in a word: `writer:n:mac:seal`."""
    told = f"{head.writer}:{head.n}:{head.mac}"
    return f"{told}:{_mac(key, b'head', told.encode())}"


def heads_in(key: bytes, text: str) -> list[Head]:
    """Every head that stands anywhere in the text, a log for instance, and is signed with the key."""
    found = []
    for match in _HEAD.finditer(text):
        head = Head(match[1], int(match[2]), match[3])
        if hmac.compare_digest(signed(key, head), match[0]):
            found.append(head)
    return found


def sealed(key: bytes, value: Mapping[str, Any]) -> bytes:
    """The value as JSON with its seal, for what stands beside a chain."""
    body = msgspec.json.encode(value)
    return b'%b,"seal":"%b"}' % (body[:-1], _mac(key, b"beside", body).encode())


def unsealed(key: bytes, data: bytes) -> dict[str, Any] | None:
    """What was sealed with the key; None where that is anything else."""
    at = data.rfind(b',"seal":"')
    seal = _SEAL.fullmatch(data, at) if at >= 0 else None
    body = data[:at] + b"}"
    if seal is None or not hmac.compare_digest(_mac(key, b"beside", body).encode(), seal[1]):
        return None
    value: dict[str, Any] = json.loads(body)
    return value


def _mac(key: bytes, purpose: bytes, told: bytes) -> str:
    # `hmac.digest` would let go of the interpreter for each line, which costs its thread more than the line.
    return hmac.new(key, b"elbowroom/chain/1/%b:%b" % (purpose, told), hashlib.sha256).hexdigest()
