"""What a retrieval tool returned, as a list of documents not yet read.

Knows: the forms in which frameworks write a tool's result: JSON, JSON in a JSON string, JSON on every line, one object
a text part, Python's own notation with single quotes; and where in it the list of documents is.
Does not know: what a document looks like (`documents`), how a store wraps it (`stores`), or which tools return any: the
policy names them.

Text that is none of these is one document. It is never cut at blank lines: what looks like a border in it may be part
of what somebody wrote.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any

from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode
from elbowroom.read.rawjson import decode, whole
from elbowroom.read.stores import TEXTS, rows, unwrapped

# Under which names a result holds its list; the first that is there and not empty.
_LISTS = (
    "documents", "results", "result", "data", "docs", "items", "hits", "matches", "chunks", "passages", "nodes",
    "source_nodes", "source_documents", "search_results", "records", "points", "value", "response", "output", "content",
)  # fmt: skip
_ONE = ("title", "source", "score", "access")  # who has one of them beside a `content` in parts is one document
_DEEPEST = 4  # objects in objects that are looked into for a list
_MAX_LITERAL = 200_000  # characters; Python's own parser takes a hundred times as much memory
_MAX_COMMAS = 20_000  # of so many values it takes a tenth of a second
# What values are written with. Anything else, a sum or a call, is parsed for long before it is found to be no value.
_VALUES = re.compile(
    r"""(?:[\s\[\]{}(),:]++|True|False|None|-?[0-9]++(?:\.[0-9]*+)?(?:e[-+]?[0-9]++)?"""
    r"""|'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")*+""",
    re.DOTALL,
)

_LENIENT = json.JSONDecoder(parse_constant=lambda _: None)


def returned(texts: Sequence[str]) -> list[Any]:
    """The documents in the text parts of one tool message: objects and strings, in order.

    A part that holds objects is read by itself, or a remark beside it would show their labels and metadata as text; of
    the others those that follow each other are one text.
    """
    values: list[Any] = []
    text = False  # whether the last one is
    for one in texts:
        value = _value(one)
        if isinstance(value, str) and text:
            values[-1] += f"\n{one}"
        else:
            values.append(value)
        text = isinstance(value, str)
    return [one for value in values for one in _list(value, 0)]


def _value(text: str) -> Any:
    """What the text stands for; itself where it is neither JSON nor a Python literal."""
    inside = text.strip().removeprefix("\ufeff")  # as .NET begins a file
    if not inside.startswith(("{", "[", "(", '"')):
        return text
    try:
        value = _json(inside)
    except InvalidRequest:
        value = _lines(inside) or _literal(inside)
    return text if value is None else value


def _json(text: str) -> Any:
    """The value; a score that is NaN, as Python writes it, is none. Raises `InvalidRequest`."""
    try:
        return decode(whole(text).encode())
    except InvalidRequest:
        if "NaN" not in text:
            raise
        try:
            return _LENIENT.decode(text)
        except (ValueError, RecursionError):
            raise InvalidRequest("It is no JSON, even if NaN is a number.") from None


def _lines(text: str) -> list[Any] | None:
    """The objects of JSON on every line; None where any line is something else."""
    lines = [line for line in text.split("\n") if line.strip()]  # other line ends may stand inside a string
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return None
    try:
        return [_json(line) for line in lines]
    except InvalidRequest:
        return None


def _literal(text: str) -> Any:
    if len(text) > _MAX_LITERAL or text.count(",") > _MAX_COMMAS or _VALUES.fullmatch(text) is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know is the tool's business
            return decode(encode(ast.literal_eval(text)))  # with JSON's own types
    except (InvalidRequest, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _list(value: str | list[Any] | dict[str, Any], depth: int) -> list[Any]:
    if isinstance(value, str):
        inside = _value(value) if depth == 0 else value
        return _list(inside, 1) if not isinstance(inside, str) else [value] if value.strip() else []
    if isinstance(value, list):
        return [one for item in value for one in _item(item, depth)]
    in_columns = rows(value)
    if in_columns is not None:
        return in_columns
    if _is_parts(value.get("content")) and any(value.get(name) is not None for name in _ONE):
        return [unwrapped(value)]
    empty = False
    for name in _LISTS:
        inside = value.get(name)
        if isinstance(inside, list) or (isinstance(inside, dict) and depth < _DEEPEST and _holds_list(inside)):
            if inside:
                return _list(inside, depth + 1)
            empty = True
    return [] if empty and not any(isinstance(value.get(name), str) for name in TEXTS) else [unwrapped(value)]


def _item(item: Any, depth: int) -> list[Any]:
    """One element of a list: as a rule one document; several in a list of their own, or one and its score."""
    if isinstance(item, list) and depth < _DEEPEST and any(isinstance(one, dict | list) for one in item):
        scores = [one for one in item if _is_number(one)]
        if len(item) == 2 and isinstance(item[0], dict) and scores:
            return [{"score": scores[0], **unwrapped(item[0])}]
        return [one for inside in item if not _is_number(inside) for one in _item(inside, depth + 1)]
    if isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str):
        inside = _value(item["text"])
        return [item["text"]] if isinstance(inside, str) or depth >= _DEEPEST else _list(inside, depth + 1)
    return [] if item is None else [unwrapped(item)] if isinstance(item, dict) else [item]


def _is_parts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _holds_list(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(name), list) for name in _LISTS)
