"""Tools as the model reads them: a TypeScript namespace written from their JSON schemas.

Knows: how a function and its parameters are written, and what of a schema is left out (titles, limits, `strict`).
Does not know: what calls cost (`calls`), whether a tool would be allowed.

A schema comes from a client, so it may be of any shape and refer to itself. What is too large to write down raises
`CountUnavailable`; what makes no sense is written as `any`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from elbowroom.errors import CountUnavailable

MAX_NODES = 20_000  # schemas within schemas, after references were followed: some are small and unfold without end
MAX_DEPTH = 48
_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_BARE = ("anyOf", "oneOf")


def namespace(functions: Sequence[Mapping[str, Any]]) -> str:
    """The text that a list of functions (`name`, `description`, `parameters`) becomes."""
    lines = ["namespace functions {", ""]
    for function in functions:
        lines += _comment(function.get("description"))
        parameters = function.get("parameters")
        if isinstance(parameters, dict) and _properties(parameters):
            lines.append(f"type {function['name']} = (_: {_Schema(parameters).members(parameters, 0)}) => any;")
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
    """Writes one function's parameters; keeps the root that references start from."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.nodes = 0

    def members(self, schema: Mapping[str, Any], depth: int) -> str:
        """An object: on one line where no property has a comment, else each on its own line, never indented."""
        required = schema.get("required")
        required = required if isinstance(required, list) else ()
        properties = {name: self.resolve(value) for name, value in _properties(schema).items()}
        plain = not any(value.get("description") or "default" in value for value in properties.values())
        written = []
        for name, value in properties.items():
            mark = "" if name in required else "?"
            written.append((value, f"{name}{mark}: {self.type(value, depth + 1)}"))
        if plain:
            return "{ " + ", ".join(text for _, text in written) + " }"
        lines = ["{"]
        for value, text in written:
            lines += _comment(value.get("description"))
            lines.append(f"{text}, // default: {_default(value['default'])}" if "default" in value else f"{text},")
        lines.append("}")
        return "\n".join(lines)

    def type(self, schema: Mapping[str, Any], depth: int) -> str:
        """The TypeScript type of one schema, its references resolved."""
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise CountUnavailable("a tool's schema is too large or too deep to be counted", param="tools")
        if isinstance(values := schema.get("enum"), list):
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
        if "const" in schema:
            return json.dumps(schema["const"], ensure_ascii=False)
        for key in _BARE:
            if isinstance(choices := schema.get(key), list):
                return " | ".join(self.type(self.resolve(choice), depth + 1) for choice in choices)
        if isinstance(parts := schema.get("allOf"), list):
            merged: dict[str, Any] = {}
            for part in parts:
                merged |= self.resolve(part)
            return self.type(merged | {k: v for k, v in schema.items() if k != "allOf"}, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.type({**schema, "type": one}, depth + 1) for one in kind)
        if kind == "array":
            return self.array(schema, depth)
        if kind == "object" or "properties" in schema:
            return self.members(schema, depth) if _properties(schema) else "object"
        return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"

    def array(self, schema: Mapping[str, Any], depth: int) -> str:
        items = schema.get("items")
        return f"{self.type(self.resolve(items), depth + 1)}[]" if items else "any[]"

    def resolve(self, schema: Any) -> dict[str, Any]:
        """The schema with its reference replaced by what it points at; `{}` for anything that is no schema."""
        for _ in range(8):
            if not isinstance(schema, dict):
                return {}
            if not isinstance(pointer := schema.get("$ref"), str):
                return schema
            target: Any = self.root
            for step in pointer.removeprefix("#").strip("/").split("/"):
                target = target.get(step) if isinstance(target, dict) and step else target
            own = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **own} if isinstance(target, dict) else own
        return {}


def _default(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
