"""Records that an earlier version wrote, read as if this one had written them.

Knows: one step for each version of the record, from it to the next.
Does not know: where records are kept. What an old record did not say stays unsaid: it is None or empty, never made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from elbowroom.account.trace import Facts, record

_UNSAID = record(None, Facts(trace_id="", time=""))  # every field, with nothing in it


def convert(story: dict[str, Any]) -> dict[str, Any]:
    """The record in the present version; the same where it is in that already, or is of a later one, or no record."""
    version = story.get("version")
    while isinstance(version, int) and version in _STEPS:
        story = _STEPS[version](story)
        version = story["version"]
    return story


def convert_1_to_2(story: Mapping[str, Any]) -> dict[str, Any]:
    """Version 2 says which instructions governed, which tools were asked for, and what followed from each result."""
    gone = list(story.get("tools_removed") or ())
    removed = [{"name": name, "by": []} for name in gone]
    return {
        **_UNSAID,
        **story,
        "tools": {"requested": [], "admitted": [], "removed": removed},
        "documents": [{"digest_sent": "", **one} for one in story.get("documents", ())],
        "version": 2,
    }


_STEPS: dict[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: convert_1_to_2}
