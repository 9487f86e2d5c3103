"""The source registry: what an operator says of the places that documents come from.

Knows: how a source is named (one exact name, or a pattern with stars), and how its link template is filled.
Does not know: where the file lies, or what authority and freshness lead to (`decide/gates/`, `decide/packers/`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct

from elbowroom.read import yaml
from elbowroom.records import Document

UNREGISTERED = 0.5  # authority of a source that nobody registered
_FIELD = re.compile(r"\{([^{}]*)\}")
_FIELDS = ("id", "source_id", "chunk_index", "version", "section", "anchor", "parent_id")


class SourceRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One source, or all that a pattern fits."""

    id: str | None = None  # a document's source_id, its url or its id, exactly
    match: str | None = None  # the same as a pattern: * stands for anything
    authority: Annotated[float, Meta(ge=0, le=1)] = UNREGISTERED
    kind: str | None = None  # the operator's word for what it is
    link: str | None = None  # address for citations, {source_id} and the like filled in
    freshness_days: Annotated[float, Meta(gt=0)] | None = None  # how old a copy may be


class Registry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """sources.yaml, whole."""

    sources: tuple[SourceRow, ...] = ()

    def find(self, document: Document) -> SourceRow | None:
        """What is registered for the document: its exact name before any pattern, then the first that fits."""
        if not self.sources:
            return None
        names = [name for name in (document.source_id, document.url, document.id) if name]
        for name in names:
            if name in self._by_name:
                return self._by_name[name]
        return next((row for pieces, row in self._patterns if any(_fits(pieces, name) for name in names)), None)

    @cached_property
    def _by_name(self) -> Mapping[str, SourceRow]:
        return {row.id: row for row in self.sources if row.id is not None}

    @cached_property
    def _patterns(self) -> Sequence[tuple[list[str], SourceRow]]:
        return [(row.match.split("*"), row) for row in self.sources if row.match is not None]


def link_of(row: SourceRow, document: Document) -> str | None:
    """The template filled with what the document says, each value quoted; None where it lacks one of them."""
    if row.link is None:
        return None
    values = {name: getattr(document, name) for name in _FIELD.findall(row.link)}
    if None in values.values():
        return None
    return _FIELD.sub(lambda found: quote(str(values[found[1]]), safe=""), row.link)


def read_sources(file: str, text: str) -> Registry:
    """The registry out of its file's text. Raises `InvalidConfig`, the message beginning with `file:line:`."""
    marked = yaml.read(text, file, Registry)
    seen: dict[str, int] = {}
    for i, row in enumerate(marked.value.sources):
        at = f"sources[{i}]"
        if (row.id is None) == (row.match is None):
            raise marked.fault(at, "give it an id or a match, and not both")
        name = row.id if row.id is not None else row.match
        if not name:
            raise marked.fault(at, "an empty name fits nothing")
        if name in seen:
            raise marked.fault(at, f"{name} is registered twice, first as sources[{seen[name]}]")
        if row.match is not None and "*" not in row.match:
            raise marked.fault(f"{at}.match", "has no star; write it as id")
        seen[name] = i
        for word in _FIELD.findall(row.link or ""):
            if word not in _FIELDS:
                raise marked.fault(f"{at}.link", f"there is no {{{word}}}; there are {', '.join(_FIELDS)}")
        if row.link is not None and not row.link.startswith(("https://", "http://")):
            raise marked.fault(f"{at}.link", "must begin with https:// or http://")
    return marked.value


def _fits(pieces: Sequence[str], name: str) -> bool:
    """Whether the name is these pieces with anything between them. Linear, whatever the name."""
    first, *middle, last = pieces
    at, end = len(first), len(name) - len(last)
    if not (name.startswith(first) and name.endswith(last) and at <= end):
        return False
    for piece in middle:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
