"""Tools as the model reads them: a TypeScript namespace written from their JSON schemas.

Knows: how a function and its parameters are written, and what of a schema is left out (titles, limits, `strict`).
Does not know: what calls cost (`calls`), whether a tool would be allowed.

A schema comes from a client, so it may have any shape and may refer to itself. What makes no sense is written as
`any`, and so is a reference inside of itself; what unfolds to more than `MAX_CHARS` raises `CountUnavailable`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from elbowroom.errors import CountUnavailable

MAX_CHARS = 1 << 20  # written for one function, each level of nesting counted again; a schema counts as 64 at least
_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def namespace(functions: Sequence[Mapping[str, Any]], *, older: bool = False, titled: bool = False) -> str:
    """The text that a list of functions (`name`, `description`, `parameters`) becomes.

    `older`: as the `functions` field is written, each property on a line of its own and comments outside only.
    `titled`: as the Responses form is written, where titles, and descriptions of objects, are comments too.
    """
    lines = ["namespace functions {", ""]
    for function in functions:
        lines += _comment(function.get("description"))
        parameters = function.get("parameters")
        if isinstance(parameters, dict) and _properties(parameters):
            written = _Schema(parameters, older, titled).members(parameters, 0)
            lines.append(f"type {function['name']} = (_: {written}) => any;")
        else:
            lines.append(f"type {function['name']} = () => any;")
        lines.append("")
    lines.append("} // namespace functions")
    return "\n".join(lines)


def _comment(description: Any) -> list[str]:
    """A description as comment lines, without its indentation and without one dot at its end."""
    if not isinstance(description, str) or not description:
        return []
    return [f"// {line.strip()}".rstrip() for line in description.strip().removesuffix(".").split("\n")]


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


class _Schema:
    """Writes one function's parameters; `root` is where references start."""

    def __init__(self, root: Mapping[str, Any], older: bool, titled: bool) -> None:
        self.root = root
        self.older = older
        self.titled = titled
        self.open: set[str] = set()  # references that are being written
        self.chars = 0

    def members(self, schema: Mapping[str, Any], depth: int) -> str:
        """An object: on one line where no property has a comment, else each on its own line, not indented."""
        required = schema.get("required")
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        written = []
        for name, value in _properties(schema).items():
            resolved = self.resolve(value)
            mark = "" if name in needed else "?"
            written.append((resolved, self.spend(f"{name}{mark}: {self.type(value, depth + 1)}")))
        lines = self.comments(schema) if self.titled else []
        if not self.older and not any("default" in value or self.comments(value) for value, _ in written):
            return "\n".join([*lines, "{ " + ", ".join(text for _, text in written) + " }"])
        lines.append("{")
        for value, text in written:
            if depth == 0 or not self.older:
                lines += self.comments(value)
            line = f"{text}, // default: {_default(value['default'])}" if "default" in value else f"{text},"
            lines.append("  " * depth + line if self.older else line)
        lines.append("}")
        return self.spend("\n".join(lines))

    def comments(self, schema: Mapping[str, Any]) -> list[str]:
        """What is said above a property, and in the Responses form above an object."""
        title = schema.get("title") if self.titled else None
        return [*([f"// {title}"] if isinstance(title, str) and title else []), *_comment(schema.get("description"))]

    def type(self, schema: Any, depth: int) -> str:
        """The TypeScript type of one schema."""
        if not isinstance(schema, dict):
            return "any"
        if isinstance(pointer := schema.get("$ref"), str):
            if pointer in self.open:
                return "any"
            self.open.add(pointer)
            written = self.type(self.target(schema, pointer), depth)
            self.open.discard(pointer)
            return written
        if isinstance(values := schema.get("enum"), list):
            return self.union([json.dumps(value, ensure_ascii=False) for value in values])
        if "const" in schema and not self.older:
            return json.dumps(schema["const"], ensure_ascii=False)
        if isinstance(choices := schema.get("anyOf", schema.get("oneOf")), list):
            return self.union([self.type(choice, depth + 1) for choice in choices])
        if isinstance(parts := schema.get("allOf"), list):
            return self.type(self.merged(schema, parts), depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.union([self.type({**schema, "type": one}, depth) for one in kind])
        if kind == "array":
            return self.spend(f"{self.type(schema.get('items'), depth)}[]")
        if kind == "object" or "properties" in schema:
            return self.members(schema, depth) if _properties(schema) else "object"
        return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"

    def union(self, types: Sequence[str]) -> str:
        return self.spend(" | ".join(types))

    def merged(self, schema: Mapping[str, Any], parts: Sequence[Any]) -> dict[str, Any]:
        """`allOf` as one schema: later parts win, and the schema's own members win over all."""
        merged: dict[str, Any] = {}
        for part in parts:
            merged |= self.resolve(part)
        merged |= {key: value for key, value in schema.items() if key != "allOf"}
        self.chars += len(merged)
        return merged

    def resolve(self, schema: Any) -> dict[str, Any]:
        """The schema with a chain of references replaced by what it leads to; `{}` for what is no schema."""
        for _ in range(8):
            if not isinstance(schema, dict):
                break
            if not isinstance(pointer := schema.get("$ref"), str):
                return schema
            schema = self.target(schema, pointer)
        return {}

    def target(self, schema: Mapping[str, Any], pointer: str) -> dict[str, Any]:
        """What one reference points at, with the members beside the reference on top."""
        target: Any = self.root
        for step in pointer.removeprefix("#").strip("/").split("/"):
            target = target.get(step) if isinstance(target, dict) else None
        own = {key: value for key, value in schema.items() if key != "$ref"}
        found = {**target, **own} if isinstance(target, dict) else own
        self.chars += len(found)
        return found

    def spend(self, text: str) -> str:
        """The text itself, while there is room for more."""
        self.chars += len(text) + 64
        if self.chars > MAX_CHARS:
            raise CountUnavailable("a tool's schema unfolds to more than can be counted", param="tools")
        return text


def _default(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
