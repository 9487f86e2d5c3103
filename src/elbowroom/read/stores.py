"""How vector stores and search engines write what they found: documents in columns, or inside a wrapping.

Knows: Chroma's columns, and the members in which Qdrant, Elasticsearch, OpenSearch, Milvus and Pinecone keep a document
beside its id and score.
Does not know: what a document looks like otherwise (`documents`), or where in a result its list is (`returned`).

A label is never lost on the way: where it cannot be told which one is the document's, it gets one that nobody can read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXTS = ("text", "content", "page_content", "pageContent", "snippet")
_SHAPED = (*TEXTS, "document", "data", "node")  # it is a document already, or wrapped in a way that documents know
_WRAPPINGS = ("payload", "_source", "entity", "metadata")
_METADATA = ("metadata", "meta", "attributes")
_OWN = {"id": "id", "_id": "id", "score": "score", "_score": "score"}
_COLUMNS = ("ids", "metadatas", "distances", "scores")
_NAMES = {"id": "ids", "metadata": "metadatas", "score": "scores"}
_UNREADABLE: Mapping[str, Any] = {}


def rows(result: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The documents of a result in columns; None where it has no such form.

    Chroma's `query` has a list of columns for each of its questions, `get` has the columns alone.
    """
    texts = result.get("documents")
    columns = {name: column for name in _COLUMNS if isinstance(column := result.get(name), list)}
    if not isinstance(texts, list) or not columns or any(isinstance(one, dict) for one in texts):
        return None
    if not texts or not all(isinstance(one, list) for one in texts):
        return list(_rows(texts, columns))
    found: list[dict[str, Any]] = []
    for at, some in enumerate(texts):
        found += _rows(some, {name: column[at] if at < len(column) else [] for name, column in columns.items()})
    return found


def _rows(texts: Sequence[Any], columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    whole = {name: column for name, column in columns.items() if isinstance(column, list) and len(column) == len(texts)}
    for at, text in enumerate(texts):
        row = {name: whole[column][at] for name, column in _NAMES.items() if column in whole}
        # Else nobody knows whose metadata are whose.
        told = ("metadata" in row or "metadatas" not in columns) and isinstance(row.get("metadata"), dict | None)
        yield {**row, "text": text, **({} if told else {"access": _UNREADABLE})}


def unwrapped(item: dict[str, Any]) -> dict[str, Any]:
    """One document without its wrapping; what has none comes back as it is."""
    if any(item.get(name) is not None for name in _SHAPED):
        return item
    for name in _WRAPPINGS:
        inside = item.get(name)
        if isinstance(inside, dict) and any(isinstance(inside.get(alias), str) for alias in TEXTS):
            own = {known: item[said] for said, known in _OWN.items() if item.get(said) is not None}
            document = {**inside, **own}
            labels = [
                one["access"]
                for one in (item, inside, *_metadata(item, but=name), *_metadata(inside))
                if one.get("access") is not None
            ]
            if labels:
                document["access"] = labels[0] if len(labels) == 1 else _UNREADABLE
            return document
    return item


def _metadata(item: Mapping[str, Any], but: str = "") -> Iterator[Mapping[str, Any]]:
    for name in _METADATA:
        if name != but and isinstance(inside := item.get(name), dict):
            yield inside
