"""What is registered of their sources, on the passages.

Knows: that the operator's word about a source takes the place of the document's own.
Does not know: what authority, freshness or a link lead to.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from elbowroom.decide.passage import Passage
from elbowroom.read.sources import Registry, link_of


def registered(passages: Sequence[Passage], registry: Registry) -> tuple[Passage, ...]:
    """The same passages in the same order; those of registered sources with authority, freshness and link."""
    if not registry.sources:
        return tuple(passages)
    return tuple(_registered(one, registry) for one in passages)


def _registered(passage: Passage, registry: Registry) -> Passage:
    row = registry.find(passage.document)
    if row is None:
        return passage
    link = link_of(row, passage.document)
    return replace(passage, authority=row.authority, freshness_days=row.freshness_days, kind=row.kind, link=link)
