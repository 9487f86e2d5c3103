"""The answer's format: a JSON schema that the model is told to follow.

Knows: the section that such a schema becomes, and what of it is left out.
Does not know: how long an answer of that schema may be (`read.contract`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SCHEMA_MARGIN = 4
_LEFT_OUT = ("additionalProperties", "required")


def section(response_format: Any) -> str | None:
    """The text of `response_format`; None where it is no JSON schema (`json_object` and `text` cost nothing)."""
    if not isinstance(response_format, dict) or response_format.get("type") != "json_schema":
        return None
    described = response_format.get("json_schema")
    if not isinstance(described, dict):
        return None
    name, description = described.get("name"), described.get("description")
    comment = f"// {description}\n" if isinstance(description, str) and description else ""
    text = json.dumps(_kept(described.get("schema")), ensure_ascii=False, separators=(",", ":"))
    return f"\n\n# Response Formats\n\n## {name if isinstance(name, str) else ''}\n\n{comment}{text}"


def _kept(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {key: _kept(value) for key, value in schema.items() if key not in _LEFT_OUT}
    return [_kept(item) for item in schema] if isinstance(schema, list) else schema
