"""JSON cut into its parts, each part kept as the bytes that came.

Knows: how to cut an object or an array one level deep, and that the fast parser refuses lone surrogates (the escape
of half a character), which are legal JSON: then the standard parser does the same work.
Does not know: what the parts mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any, NoReturn

import msgspec

from elbowroom.errors import InvalidRequest

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_ANY = msgspec.json.Decoder()
_UNREAD = msgspec.json.Decoder(msgspec.Raw)
_PART = 1 << 18  # characters
_MOST_VALUES = 50_000  # in a row; each is found by itself
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_BLANK = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(rb'[ \t\n\r]*,?[ \t\n\r]*("[^"\\]*(?:\\.[^"\\]*)*")[ \t\n\r]*:[ \t\n\r]*', re.DOTALL)
_END = re.compile(rb"[ \t\n\r]*\}[ \t\n\r]*")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a member is given twice")


_UNIQUE = json.JSONDecoder(object_pairs_hook=_distinct)
_STANDARD = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def members(data: bytes, param: str | None = None) -> dict[str, bytes]:
    """The members of a JSON object in order, their values as raw JSON.

    A member given twice is refused: readers differ in which of the two counts, so what is checked here might not be
    what is billed there. Raises `InvalidRequest`.
    """
    try:
        fields = {name: bytes(raw) for name, raw in _OBJECT.decode(data).items()}
    except _REFUSED:
        pairs = list(_cut(data, "{}", param))
        fields = dict(pairs)
        distinct = len(pairs) == len(fields)
    else:
        distinct = _walk_through(data, fields) is not None
    if not distinct:
        raise InvalidRequest("A member of a JSON object is given twice.", param=param)
    return fields


def entries(data: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """The same, the names as they are written, too: with their quotes and escapes. Raises `InvalidRequest`."""
    return _walk_through(data, members(data)) or ()


def elements(data: bytes, param: str | None = None) -> list[bytes]:
    """The elements of a JSON array as raw JSON. Raises `InvalidRequest`."""
    return list(map(bytes, views(data, param)))


def views(data: bytes, param: str | None = None) -> list[bytes] | list[msgspec.Raw]:
    """The same without copies: `bytes` makes one. Raises `InvalidRequest`."""
    try:
        return _ARRAY.decode(data)
    except _REFUSED:
        return [raw for _, raw in _cut(data, "[]", param)]


def decode(data: bytes, param: str | None = None) -> Any:
    """The value; lone surrogates stay in its strings. Raises `InvalidRequest`."""
    try:
        return _ANY.decode(data)
    except _REFUSED:
        try:
            return _STANDARD.decode(data.decode())
        except (ValueError, RecursionError) as error:
            raise _invalid(error, param) from None


def utf8(text: str) -> bytes:
    """The text in UTF-8, halves of characters as they are.

    Part by part, where it is large: for all at once Python makes room for three bytes a character, and moves the whole
    into less.
    """
    if text.isascii():
        return text.encode()
    parts = range(0, len(text), _PART)
    return b"".join([text[at : at + _PART].encode("utf-8", "surrogatepass") for at in parts])


def is_json(text: str) -> bool:
    """Whether it is a JSON value, none of which is built. Raises nothing."""
    try:
        # What is not ASCII can stand in strings alone, and there any other character could.
        _UNREAD.decode(text.encode("ascii", "replace"))
    except _REFUSED:
        try:
            _STANDARD.decode(text)
        except (ValueError, RecursionError):
            return False
    return True


def sequence(text: str) -> list[str]:
    """JSON objects and arrays one behind another, as they are written; none where there is anything else. Raises
    nothing.
    """
    values: list[str] = []
    at = _skip(text, 0)
    while at < len(text) and len(values) < _MOST_VALUES:
        if text[at] not in "{[":
            return []
        try:
            _, end = _STANDARD.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        values.append(text[at:end])
        at = _skip(text, end)
    return values if at == len(text) else []


def unambiguous(text: str) -> bool:
    """Whether no object in this JSON gives a member twice: readers differ in which of the two counts. False, too, where
    it is too deep to say.
    """
    try:
        _UNIQUE.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def whole(text: str) -> str:
    """The text without halves of characters: each lone surrogate becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def _walk_through(data: bytes, fields: dict[str, bytes]) -> tuple[tuple[bytes, bytes], ...] | None:
    """The members as they are written, if `fields`, in order, are all of the object; None where one is given twice,
    which leaves a rest or a value out of place.
    """
    found, at = [], data.index(b"{") + 1
    for raw in fields.values():
        name = _NAME.match(data, at)
        if name is None or not data.startswith(raw, name.end()):
            return None
        found.append((name[1], raw))
        at = name.end() + len(raw)
    return tuple(found) if _END.fullmatch(data, at) else None


def _cut(data: bytes, brackets: str, param: str | None) -> Iterator[tuple[str, bytes]]:
    """(name, raw value) of each part, by the standard parser; the names in an array are empty."""
    try:
        text = data.decode()
        at = _expect(text, brackets[0], _skip(text, 0))
        more = not text.startswith(brackets[1], at)
        while more:
            name = ""
            if brackets == "{}":
                name, at = _STANDARD.raw_decode(text, at)
                if not isinstance(name, str):
                    raise ValueError("a member's name must be a string")
                at = _expect(text, ":", _skip(text, at))
            start = at
            _, at = _STANDARD.raw_decode(text, start)
            yield name, text[start:at].encode()
            at = _skip(text, at)
            more = text.startswith(",", at)
            if more:
                at = _skip(text, at + 1)
        if _expect(text, brackets[1], at) != len(text):
            raise ValueError("something follows the end")
    except (ValueError, RecursionError) as error:
        raise _invalid(error, param) from None


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _expect(text: str, character: str, at: int) -> int:
    """The position after `character` and any white space; it must stand at `at`."""
    if not text.startswith(character, at):
        raise ValueError(f"expected {character} at character {at}")
    return _skip(text, at + 1)


def _invalid(error: Exception, param: str | None) -> InvalidRequest:
    what = param or "The body"
    if isinstance(error, UnicodeDecodeError):
        return InvalidRequest(f"{what} is not UTF-8 at byte {error.start}.", param=param)
    if isinstance(error, RecursionError):
        return InvalidRequest(f"{what} is nested too deeply.", param=param)
    return InvalidRequest(f"{what} is not the JSON that is expected: {error}.", param=param)
