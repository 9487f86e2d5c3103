"""YAML that an operator wrote becomes a checked value, or an error that names file and line.

Knows: the plain part of YAML (maps, lists, strings, numbers, true, false, null) and where each thing stands.
Does not know: what the values mean. Tags, aliases and merges are refused: nothing is constructed, nothing unfolds.

Words that YAML 1.1 reads as something else than they look (`no`, `010`, `1:30`, `.inf`) are refused instead of guessed.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from elbowroom.errors import InvalidConfig
from elbowroom.read.choices import choices

T = TypeVar("T")

_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + kind for kind in ("str", "timestamp", "null", "bool", "int", "float")}
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FRACTION = re.compile(r"[-+]?[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?")
_WHERE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_WORD = "Invalid enum value "
_NO_FRACTION = re.compile(r"Expected `float\b.*, got `str`")
_FIELD = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)


class Marked(Generic[T]):
    """A value and the lines it was read from."""

    def __init__(self, value: T, file: str, lines: dict[str, int]) -> None:
        self.value = value
        self.file = file
        self.lines = lines  # path -> line from 1; paths as in `model_list[0].model_info.family`

    def fault(self, path: str, what: str) -> InvalidConfig:
        """An error about what stands at `path`, or about the nearest thing around it that was written."""
        return _fault(self.file, self.lines, path, what)


def load(text: str, file: str, kind: type[T]) -> T:
    """`text` as a `kind`; `file` is its name for errors. Raises `InvalidConfig`: `file:line: what (path)`."""
    return read(text, file, kind).value


def read(text: str, file: str, kind: type[T]) -> Marked[T]:
    """Like `load`, for callers that have more to check and want to name lines too."""
    lines: dict[str, int] = {"": 1}
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        plain = None if node is None else _Plain(file, lines).value(node, "")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InvalidConfig(f"{file}:{mark.line + 1 if mark else 1}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InvalidConfig(f"{file}:1: {error}") from None
    except RecursionError:
        raise InvalidConfig(f"{file}:1: nested too deeply") from None
    try:
        return Marked(msgspec.convert({} if plain is None else plain, kind), file, lines)
    except msgspec.ValidationError as error:
        raise _explained(str(error), file, lines, kind) from None


class _Plain:
    """From nodes to plain values, each path's line noted on the way."""

    def __init__(self, file: str, lines: dict[str, int]) -> None:
        self.file = file
        self.lines = lines
        self.seen: set[int] = set()

    def value(self, node: yaml.Node, path: str) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self.seen:
            raise self.fault(path, "aliases are not supported; write the value again")
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.value(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            return self.scalar(node.tag.removeprefix(_TAG), node.value, path)
        raise self.fault(path, "tags are not supported")

    def mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag == _TAG + "merge":
                raise InvalidConfig(f"{self.file}:{line}: a key must be a plain word ({path or 'top level'})")
            inner = f"{path}.{key.value}" if path else key.value
            if key.value in values:
                raise InvalidConfig(
                    f"{self.file}:{line}: {key.value} is given twice, first on line {self.lines[inner]} ({inner})"
                )
            self.lines[inner] = line
            values[key.value] = self.value(value, inner)
        return values

    def scalar(self, kind: str, word: str, path: str) -> Any:
        if kind in ("str", "timestamp"):
            return word
        if kind == "null":
            return None
        if kind == "bool" and word.lower() in ("true", "false"):
            return word.lower() == "true"
        if kind == "int" and _DECIMAL.fullmatch(word):
            return int(word)
        if kind == "float" and _FRACTION.fullmatch(word) and isfinite(float(word)):
            return float(word)
        raise self.fault(path, f"{word} is no plain value; write true, false or a finite decimal number, or quote it")

    def fault(self, path: str, what: str) -> InvalidConfig:
        return _fault(self.file, self.lines, path, what)


def _fault(file: str, lines: dict[str, int], path: str, what: str) -> InvalidConfig:
    near = path
    while near not in lines:
        near = near[: max(near.rfind("."), near.rfind("["), 0)]
    return InvalidConfig(f"{file}:{lines[near]}: {what} ({path or 'top level'})", param=path or None)


def _explained(message: str, file: str, lines: dict[str, int], kind: Any) -> InvalidConfig:
    """The converter's words, at the line they are about."""
    found = _WHERE.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    words = choices(kind, path) if what.startswith(_WORD) else ()
    path = path.removeprefix(".").split("[...]")[0]
    unknown = _FIELD.fullmatch(what)
    if unknown:
        return _fault(file, lines, f"{path}.{unknown['name']}" if path else unknown["name"], "there is no such key")
    if words:
        said = what.removeprefix(_WORD)
        return _fault(file, lines, path, f"{said} is none of {', '.join(words)}")
    if _NO_FRACTION.fullmatch(what):
        what += "; a power is written with a point and a sign, as 1.0e-6"  # 1e-6 is a word in YAML 1.1
    return _fault(file, lines, path, what[:1].lower() + what[1:])
