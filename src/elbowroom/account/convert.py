"""Records that an earlier version wrote, read as if this one had written them.

Knows: one step for each version of the record, from it to the next.
Does not know: where records are kept. What an old record did not say stays unsaid: it is None or empty, never made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from elbowroom.account.trace import VERSION


def convert(record: dict[str, Any]) -> dict[str, Any]:
    """The record in the present version; the same where it is already, where it is of a later one, or is no request's."""
    version = record.get("version")
    while isinstance(version, int) and version < VERSION and version in _STEPS:
        record = _STEPS[version](record)
        version = record["version"]
    return record


def convert_1_to_2(record: Mapping[str, Any]) -> dict[str, Any]:
    """Version 2 says which instructions governed, which tools were asked for, and what followed from each result."""
    gone = list(record.get("tools_removed") or ())
    return {
        "instructions": [],
        "tools": {"requested": [], "admitted": [], "removed": [{"name": name, "by": []} for name in gone]},
        "results_since": [],
        "degradations": [],
        "cohort": None,
        "counter": None,
        "hash_key_id": None,
        "captured": None,
        **record,
        "documents": [{"digest_sent": "", **one} for one in record.get("documents", ())],
        "version": 2,
    }


_STEPS: dict[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: convert_1_to_2}
