"""A document's own date.

Knows: where a document may say how old it is, its version before the day it was fetched.
Does not know: today. A date is the document's claim: it breaks ties and never beats a registered authority.
"""

from __future__ import annotations

import re

from elbowroom.records import Document

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def day(document: Document) -> int:
    """The date as a number that grows with time (20261001), 0 where there is none."""
    for claim in (document.version, document.fetched_at):
        if claim and (found := _DAY.match(claim)):
            return int("".join(found.groups()))
    return 0
