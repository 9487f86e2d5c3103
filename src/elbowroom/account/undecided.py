"""Why a record says nothing of passages and tool results.

Knows: that a request may be handed on as it came, or refused before it is decided about.
Does not know: who shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def undecided(story: Mapping[str, Any]) -> str:
    """In a few words; empty where the window was planned, or where nobody knows why it was not."""
    if story.get("window"):
        return ""
    if story.get("relayed"):
        return "the request was handed on as it came"
    return "the request was refused before anything was decided" if story.get("error") else ""
