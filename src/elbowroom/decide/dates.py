"""A document's own dates.

Knows: where a document may say how old it is (its version, before the day it was fetched), when it was fetched, and
until when it holds; how such claims are written (RFC 3339, or a day alone).
Does not know: today. A date is the document's claim: it breaks ties and never beats a registered authority.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from elbowroom.read.sources import Registry
from elbowroom.records import Document

_LATEST = 1e11  # seconds, some three thousand years; as milliseconds that was in 1973
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def day(document: Document) -> int:
    """The date as a number that grows with time (20261001), 0 where there is none."""
    for claim in (document.version, document.fetched_at):
        if claim and (found := _DAY.match(claim)):
            return int("".join(found.groups()))
    return 0


def seconds(claim: object) -> float | None:
    """Seconds since 1970, UTC; None where it is no date. Without a zone it is UTC; a number that is too large for
    seconds was meant as something else.
    """
    if isinstance(claim, int | float) and not isinstance(claim, bool):
        return float(claim) if -_LATEST <= claim <= _LATEST else None
    if not isinstance(claim, str):
        return None
    try:
        at = datetime.fromisoformat(claim.strip())
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def time_matters(documents: Iterable[Document], registry: Registry) -> bool:
    """Whether it makes a difference what time it is: something expires, or may become stale."""
    if any(row.freshness_days is not None for row in registry.sources):
        return True
    return any(one.access is not None and one.access.get("expires_at") is not None for one in documents)


def seen_at(document: Document) -> float | None:
    """When the text was last known to be right: the day it was fetched, else its version, where that is a date."""
    for claim in (document.fetched_at, document.version):
        if (at := seconds(claim)) is not None:
            return at
    return None
