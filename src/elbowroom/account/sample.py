"""Which records are kept where not all of them are.

Knows: that a stable hash of the trace id chooses, so that every instance chooses alike, and what is kept in any case.
Does not know: how large a share an operator wants, or where records go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from elbowroom.records import Drop

_WHOLE = 1 << 64
_FAILED = (Drop.NOT_PERMITTED, Drop.REDACTION_FAILED)


def kept(story: Mapping[str, Any], share: float) -> bool:
    """Whether this record is one of the `share` (0 to 1), or one that is always kept."""
    return share >= 1 or remarkable(story) or _place(str(story["trace_id"])) < share


def remarkable(story: Mapping[str, Any]) -> bool:
    """An error, a denial, evidence that could not be admitted as it should, or an answer that is not to be trusted."""
    status, cited = story["status"], story["cited"]
    return bool(
        status is None
        or status >= 400
        or story["error"]
        or story["disconnected"]
        or story["degradations"]
        or story.get("evidence_sufficient") is False
        or any(reason in story["dropped"] for reason in _FAILED)
        or story.get("tools_removed")
        or story["calls_refused"]
        or story["calls_tainted"]
        or any(story["links_flagged"].values())
        or (cited and cited["invented"])
    )


def _place(trace_id: str) -> float:
    digest = hashlib.blake2b(trace_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / _WHOLE
