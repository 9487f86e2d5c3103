"""The section that a JSON schema becomes."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.count.openai.schema import section


@pytest.mark.parametrize(
    "response_format",
    [None, 5, "json_object", {"type": "text"}, {"type": "json_object"}, {"type": "json_schema"}, {"type": []}],
)
def test_other_formats_have_none(response_format: Any) -> None:
    assert section(response_format) is None


def test_a_schema_is_written_compact_without_what_strictness_needs() -> None:
    schema = {
        "type": "object",
        "properties": {"é": {"type": "array", "items": {"type": "object", "required": ["x"]}}},
        "required": ["é"],
        "additionalProperties": False,
    }
    described = {"name": "Answer", "schema": schema, "strict": True}
    assert section({"type": "json_schema", "json_schema": described}) == (
        "\n\n# Response Formats\n\n## Answer\n\n"
        '{"type":"object","properties":{"é":{"type":"array","items":{"type":"object"}}}}'
    )
    assert section({"type": "json_schema", "json_schema": {"description": "What."}}) == (
        "\n\n# Response Formats\n\n## \n\n// What.\nnull"
    )
