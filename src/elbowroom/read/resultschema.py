"""The JSON schema that an operator writes for a tool's result.

Knows: whether a schema is one, and where in it a value does not fit.
Does not know: what becomes of a result that does not fit. References to other places are never followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec


class NoSchema(ValueError):
    """What was written is no JSON schema; the message says why."""


def fault_of(value: Any, schema: Mapping[str, Any]) -> str | None:
    """The path in the schema, such as `/items/required`, that the value breaks; None where it breaks nothing.

    The path is the operator's own words, so it may be shown; nothing of the value is in it. Raises `NoSchema`.
    """
    validator = _compiled(msgspec.json.encode(schema))
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return "/" + "/".join(map(str, error.schema_path))
    except ValueError:  # nested too deeply, or half of a character in a string
        return "/"
    return None


@lru_cache(maxsize=256)
def _compiled(schema: bytes) -> Any:
    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(schema), offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise NoSchema(getattr(error, "message", str(error))) from None
