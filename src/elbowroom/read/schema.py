"""The largest instance of a JSON schema, as a text to be measured and tokens for what has no text.

Knows: the part of JSON Schema that structured outputs use.
Does not know: whether the schema is valid (the upstream judges), nor what the text measures.

What a schema leaves open is given the policy's size: a string `schema_string_tokens`, an array `schema_array_items`. A
string with `maxLength` counts at most one token a character, and beyond the open string's size one for two characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from elbowroom.read.policy import Answer
from elbowroom.read.rawjson import whole

MAX_NODES = 4000  # beyond this an instance has no sensible size
MAX_TEXT = 256_000  # characters; likewise
MAX_ENTRIES = 2  # how often one `$ref` may be entered on one path: recursion is unrolled once
_FORMATS = {
    "date-time": "2026-12-31T23:59:59.999999+00:00",
    "date": "2026-12-31",
    "time": "23:59:59.999999+00:00",
    "uuid": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
}
_LARGEST_INTEGER = "-9007199254740991"
_LARGEST_NUMBER = "-12345678.12345678"


class Instance(Struct, frozen=True):
    """JSON text without its open strings, and the tokens that those add."""

    text: str
    constant: int

    @property
    def size(self) -> int:
        """For comparing instances only: four characters a token."""
        return len(self.text) + 4 * self.constant


def largest_instance(schema: Mapping[str, Any], answer: Answer) -> Instance | None:
    """None where it grows beyond all sense: then only the model's own maximum bounds the answer."""
    try:
        instance = _Walk(schema, answer).instance(schema, ())
    except (_TooLarge, RecursionError):
        return None
    return Instance(whole(instance.text), instance.constant)


class _TooLarge(Exception):
    pass


class _Walk:
    def __init__(self, root: Mapping[str, Any], answer: Answer) -> None:
        self.root = root
        self.answer = answer
        self.nodes = 0

    def instance(self, schema: Any, path: tuple[str, ...]) -> Instance:
        """`path` holds the references entered on the way here."""
        self.nodes += 1
        self.refuse_excess()
        if not isinstance(schema, dict):  # true: anything goes
            return self.string({})
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if path.count(reference) >= MAX_ENTRIES:
                return Instance("null", 0)
            return self.instance(self.resolve(reference), (*path, reference))
        if "const" in schema:
            return Instance(_dump(schema["const"]), 0)
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return Instance(max(map(_dump, schema["enum"]), key=len), 0)
        return max(self.readings(schema, path), key=lambda instance: instance.size)

    def readings(self, schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[Instance]:
        """One instance for each thing that the schema may mean: its branches and its types."""
        branches = [one for name in ("anyOf", "oneOf") for one in _items(schema.get(name))]
        for branch in branches:
            yield self.instance(branch, path)
        merged = self.merged(schema)
        kinds = merged.get("type", _implied(merged))
        if kinds is None and branches:
            return
        for kind in kinds if isinstance(kinds, list) and kinds else [kinds]:
            yield self.typed(kind, merged, path)

    def typed(self, kind: Any, schema: dict[str, Any], path: tuple[str, ...]) -> Instance:
        if kind == "object":
            return self.object(schema, path)
        if kind == "array":
            return self.array(schema, path)
        if kind == "number":
            return Instance(_LARGEST_NUMBER, 0)
        if kind == "integer":
            bounds = [schema[name] for name in ("minimum", "maximum") if isinstance(schema.get(name), int)]
            return Instance(max(map(_dump, bounds), key=len) if len(bounds) == 2 else _LARGEST_INTEGER, 0)
        if kind in ("boolean", "null"):
            return Instance("false" if kind == "boolean" else "null", 0)
        return self.string(schema)

    def object(self, schema: dict[str, Any], path: tuple[str, ...]) -> Instance:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            named = [(_dump(name), self.instance(value, path)) for name, value in properties.items()]
        elif schema.get("additionalProperties", True) is False:
            named = []
        else:  # a map: as many entries as an open array has items
            value = self.instance(schema.get("additionalProperties", True), path)
            named = [('"name"', value)] * self.answer.schema_array_items
        return self.joined("{}", [Instance(f"{name}: {value.text}", value.constant) for name, value in named])

    def array(self, schema: dict[str, Any], path: tuple[str, ...]) -> Instance:
        first = [self.instance(one, path) for one in _items(schema.get("prefixItems"))]
        limit = _whole_number(schema.get("maxItems"))
        if limit is None:
            limit = max(self.answer.schema_array_items, _whole_number(schema.get("minItems")) or 0)
        count = limit - len(first) if schema.get("items", True) is not False else 0
        if count <= 0:
            return self.joined("[]", first)
        before = self.nodes
        item = self.instance(schema.get("items", True), path)
        self.nodes += (self.nodes - before) * (count - 1)  # each repetition is written too
        self.refuse_excess()
        return self.joined("[]", first + [item] * count)

    def string(self, schema: dict[str, Any]) -> Instance:
        known = _FORMATS.get(str(schema.get("format")))
        if known is not None:
            return Instance(_dump(known), 0)
        usual = self.answer.schema_string_tokens
        limit = _whole_number(schema.get("maxLength"))
        return Instance('""', usual if limit is None else min(limit, max(usual, -(-limit // 2))))

    def joined(self, brackets: str, parts: list[Instance]) -> Instance:
        self.refuse_excess(sum(len(part.text) for part in parts))
        text = ", ".join(part.text for part in parts)
        return Instance(brackets[0] + text + brackets[1], sum(part.constant for part in parts))

    def refuse_excess(self, characters: int = 0) -> None:
        if self.nodes > MAX_NODES or characters > MAX_TEXT:
            raise _TooLarge

    def merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with what its `allOf` adds; properties are united."""
        merged = dict(schema)
        for one in _items(schema.get("allOf")):
            part = _object(one)
            if isinstance(part.get("$ref"), str):
                part = _object(self.resolve(part["$ref"]))
            properties = {**_object(merged.get("properties")), **_object(part.get("properties"))}
            merged = {**merged, **part, "properties": properties}
        return merged

    def resolve(self, reference: str) -> Any:
        """A reference inside the same schema; any other means anything."""
        if not reference.startswith("#"):
            return True
        place: Any = self.root
        for step in reference.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, dict) or name not in place:
                return True
            place = place[name]
        return place


def _implied(schema: dict[str, Any]) -> str | None:
    if schema.get("properties"):
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
