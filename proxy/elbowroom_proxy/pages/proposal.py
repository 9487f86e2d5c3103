"""What the policy would have sent of a request in shadow, beside what was sent.

Knows: which fields of the two records are compared.
Does not know: how the proposal's record is found, or how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.account.changes import Change, changes
from elbowroom.records import Fate

Record = Mapping[str, Any]


class Proposal(Struct, frozen=True):
    """Baseline and proposal. Tokens are of the whole prompt, None where one of the two was not counted."""

    changes: Sequence[Change]
    same: int  # documents that fare alike
    tokens: tuple[int, int] | None
    refused: str = ""  # why there would have been no prompt
    notes: tuple[str, ...] = ()  # whom nobody asked, for instance


def proposal(record: Record, proposed: Record | None) -> Proposal | None:
    """None where there is no record of a proposal."""
    if proposed is None:
        return None
    before, after = (msgspec.convert(one["documents"], list[Fate]) for one in (record, proposed))
    found = changes(before, after)
    counted = [one.get("counted") for one in (record, proposed)]
    error = proposed.get("error")
    return Proposal(
        found,
        len(after) - len(found),
        (counted[0]["tokens"], counted[1]["tokens"]) if counted[0] and counted[1] else None,
        str(error["message"]) if error else "",
        tuple(proposed.get("notes") or ()),
    )
