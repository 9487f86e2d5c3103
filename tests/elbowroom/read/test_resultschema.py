"""A result is held against an operator's schema, and what it breaks is named in the schema's words."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.read.resultschema import NoSchema, fault_of

SCHEMA = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([{"id": 1}], None),
        ([], None),
        ({}, "/type"),
        ([{"id": "secret"}], "/items/properties/id/type"),
        ([{}], "/items/required"),
        (["\ud800"], "/"),
    ],
)
def test_what_is_broken_is_named_in_the_schemas_words(value: Any, fault: str | None):
    assert fault_of(value, SCHEMA) == fault


@pytest.mark.parametrize(
    "schema",
    [{"type": "nothing"}, {"$ref": "https://example.com/a"}, {"$ref": "file:///etc/hosts"}, {"$ref": "#/nowhere"}],
)
def test_what_is_no_schema_or_lies_elsewhere_is_refused(schema: dict[str, Any]):
    with pytest.raises(NoSchema):
        fault_of(1, schema)
