"""JSON as bytes: reads what is asked for, finds where a value stands, changes that and nothing beside it.

Knows: JSON's grammar, as far as it takes to tell one member from the next in text that a parser has already accepted.
Does not know: what any member means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_MARK = b"\xef\xbb\xbf"  # which some servers put before UTF-8
_OPEN, _CLOSE = (b"{", b"["), (b"}", b"]")


def read(data: bytes, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Decodes; None where it is no JSON of the decoder's type. Lone surrogates, which msgspec refuses, are kept."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(data.decode("utf-8-sig")), decoder.type)
    except (msgspec.ValidationError, ValueError, RecursionError):
        return None


def quote(value: object) -> bytes:
    """The JSON of a text, or of what holds some; lone surrogates stay escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


class Child(NamedTuple):
    """One member of an object or element of an array, in byte offsets."""

    name: str | int
    start: int  # where its name begins; an element has none, and begins with its value
    value: int
    end: int


def children(data: bytes, at: int = 0) -> Iterator[Child]:
    """The members or elements of the first object or array at or after byte `at`, in order."""
    depth = position = end = 0
    start = value = -1
    name: str | int = 0
    for token in _TOKEN.finditer(data, at):
        mark = token[0]
        if depth == 1:
            if mark == b"," or mark in _CLOSE:
                if value >= 0:
                    yield Child(name, start, value, end)
                position += 1
                name, start, value = position, -1, -1
            elif mark == b":":
                name, value = json.loads(data[start:end]), -1
            else:
                value = token.start()
                start = value if start < 0 else start
        if mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
            if not depth:
                return
        end = token.end()


def find(data: bytes, *path: str | int) -> Child:
    """The value at the path; of a name written twice the last, as parsers have it. KeyError where there is none."""
    start = len(_MARK) if data.startswith(_MARK) else 0
    found = Child("", 0, len(data) - len(data[start:].lstrip()), len(data))
    for step in path:
        inside = children(data, found.value) if data[found.value] in b"{[" else ()
        matching = [child for child in inside if child.name == step]
        if not matching:
            raise KeyError(path)
        found = matching[-1]
    return found


def replace(data: bytes, value: bytes, *path: str | int) -> bytes:
    """The same with another value at the path. KeyError where nothing is there."""
    found = find(data, *path)
    return data[: found.value] + value + data[found.end :]


def add(data: bytes, name: str, value: bytes, *path: str | int) -> bytes:
    """The same with one more member, last in the object at the path. KeyError where nothing is there."""
    at = find(data, *path).value
    members = list(children(data, at))
    at = members[-1].end if members else data.index(b"{", at) + 1
    return data[:at] + (b"," if members else b"") + quote(name) + b":" + value + data[at:]


def without(data: bytes, name: str, *path: str | int) -> bytes:
    """The same without that member of the object at the path, however often it is there."""
    while True:
        members = list(children(data, find(data, *path).value))
        at = next((index for index, member in enumerate(members) if member.name == name), None)
        if at is None:
            return data
        if at:
            data = data[: members[at - 1].end] + data[members[at].end :]
        else:
            after = members[1].start if len(members) > 1 else members[0].end
            data = data[: members[0].start] + data[after:]
