"""Tagged documents: one shape out of the many in which retrievers hand them over.

Knows: the aliases under which retrievers, vector stores and rerankers keep a text, its id, its score and the rest.
Does not know: whether a document may be read or is worth it. Metadata that has no name here is left behind, so no
later step can show it to anybody. Serialised constructors are data like any other; nothing is ever built from them.

A member of the document itself that has the wrong type is the client's mistake, and an error. In the metadata, where a
member may mean something else, the wrong type counts as absent; only a broken access label is an error everywhere,
because a label that is overlooked could let a passage in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

from elbowroom.errors import InvalidDocument
from elbowroom.read.message import encode
from elbowroom.read.rawjson import whole
from elbowroom.records import Document

MAX_ID = 256  # characters

_VECTORS = frozenset({"embedding", "embeddings", "sparse_embedding", "vector", "vectors"})
_LONG = 32  # so many numbers in a row are a vector
_DEEPEST = 64  # levels; nobody writes a document or a label that is deeper

_Paths = tuple[tuple[str, str, str], ...]  # as written, its first member, the member inside that or ""


def _paths(words: str) -> _Paths:
    parted = ((path, *path.partition(".")) for path in words.split())
    return tuple((path, outer, inner) for path, outer, _, inner in parted)


_TEXT = _paths("text content page_content pageContent snippet data.text data.snippet node.text document.text document")
_TEXT_ROOTS = frozenset(outer for _, outer, _ in _TEXT)
_MUST_AGREE = ("text", "content", "page_content")
_ID = _paths("id chunk_id id_ node.id_ doc_id document_id document.id document.doc_id")
_METADATA = _paths("metadata meta attributes data node.metadata document.metadata")
_LABELLED = (*_METADATA, *_paths("document node payload _source entity"))  # where a document's label may stand as well


def read_documents(value: Any, max_documents: int) -> tuple[Document, ...]:
    """The documents of the client's list, in order, positions from 0; a bare string is a document without a label.

    Raises `InvalidDocument`, its `param` naming the document and the field, never a value.
    """
    if not isinstance(value, list):
        raise InvalidDocument("documents must be an array.", param="documents")
    if len(value) > max_documents:
        raise InvalidDocument(f"documents may hold {max_documents} at most; there are {len(value)}.", param="documents")
    items = [{"text": item} if isinstance(item, str) else item for item in value]
    ids = [_id(item, i) for i, item in enumerate(items)]
    taken = {name for name in ids if name is not None}
    documents = tuple(
        _document(item, i, _own_id(i, taken) if name is None else name)
        for i, (item, name) in enumerate(zip(items, ids, strict=True))
    )
    _refuse_two_texts(documents)
    return documents


def read_part(item: dict[str, Any], position: int, where: str) -> Document:
    """The document of a message's part; `where` is that part's path, for errors. Without an id it is `d<position>`.

    Raises `InvalidDocument`.
    """
    try:
        return _document(item, position, _id(item, position) or f"d{position}")
    except InvalidDocument as error:
        said, param = (text.replace(f"documents[{position}]", where) for text in (error.message, error.param or ""))
        raise InvalidDocument(said, param=param) from None


def read_returned(values: Sequence[Any], first: int) -> tuple[Document, ...]:
    """The documents that a tool returned, positions from `first`. Whatever is in them, nothing here is an error.

    What has no text by any name is a document that says its JSON; a member of the wrong type is left out. Ids are the
    tool's own, or `d<position>`.
    """
    return tuple(_returned(value, position) for position, value in enumerate(values, start=first))


def _returned(value: Any, position: int) -> Document:
    item = value if isinstance(value, dict) else {"text": value if isinstance(value, str) else _as_json(value)}
    own = f"d{position}"
    try:
        return _document(item, position, _id(item, position) or own)
    except InvalidDocument:
        pass
    kept = {name: item[name] for name in _KNOWN if name in item and _KNOWN[name][0](item[name]) is not None}
    text = next((text for _, value in _present(item, _TEXT) if (text := _readable(value)) is not None), None)
    labelled = "access" in item or _overlooked(item) is not None
    name = _as_string(item.get("id"))
    return _document(
        {
            **kept,
            "text": _as_json(item) if text is None else text,
            # A label that cannot be read still stands for a restriction.
            **({"access": kept.get("access", {})} if labelled else {}),
        },
        position,
        name if name is not None and 0 < len(name) <= MAX_ID else own,
    )


def _readable(value: Any) -> str | None:
    try:
        return None if value is None or isinstance(value, dict) else _as_text(value, 0, "")
    except InvalidDocument:
        return None


def _as_json(value: Any) -> str:
    """The value's JSON without vectors, which say nothing to a reader."""
    return encode(_without_vectors(value)).decode()


def _without_vectors(value: Any, depth: int = 0) -> Any:
    """What is too deep becomes null."""
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST:
        return None
    if isinstance(value, list):
        return [_without_vectors(one, depth + 1) for one in value]
    return {name: _without_vectors(one, depth + 1) for name, one in value.items() if not _is_vector(name, one)}


def _is_vector(name: str, value: Any) -> bool:
    if name in _VECTORS:
        return True
    return isinstance(value, list) and len(value) >= _LONG and all(isinstance(one, int | float) for one in value)


def _own_id(position: int, taken: set[str]) -> str:
    """`d<position>`, with another d in front where the client uses that for something else."""
    name = f"d{position}"
    while name in taken:
        name = "d" + name
    return name


def _refuse_two_texts(documents: Iterable[Document]) -> None:
    first: dict[str, Document] = {}
    for document in documents:
        other = first.setdefault(document.id, document)
        if (other.text or "") != (document.text or ""):
            raise InvalidDocument(
                f"documents[{document.position}] has the id of documents[{other.position}] and another text.",
                param=f"documents[{document.position}].id",
            )


def _document(item: dict[str, Any], position: int, name: str) -> Document:
    found = _found(item, position)
    source = found.get("source_id", found.get("source"))
    url = found.get("url")
    if url is None and source is not None and source.startswith(("https://", "http://")):
        url = source
    return Document(
        position=position,
        id=name,
        text=_text(item, position),
        title=found.get("title", found.get("filename", found.get("file_name"))),
        section=found.get("section"),
        source_id=source,
        chunk_index=found.get("chunk_index"),
        url=url,
        version=found.get("version"),
        fetched_at=found.get("fetched_at"),
        supersedes=found.get("supersedes", ()),
        score=found.get("score", found.get("relevance_score")),
        rerank_score=found.get("rerank_score"),
        novelty=found.get("novelty"),
        lang=found.get("lang"),
        kind=found.get("kind"),
        summary=found.get("summary"),
        highlights=found.get("highlights", ()),
        parent_id=found.get("parent_id"),
        anchor=found.get("anchor"),
        access=found["access"] if "access" in found else _overlooked(item),
    )


def _found(item: dict[str, Any], position: int) -> dict[str, Any]:
    """The members that have a name here, converted: the document's own before its metadata's. Null is absent."""
    found: dict[str, Any] = {}
    for where in (item, _metadata(item, position)):
        for name, value in where.items():
            known = _KNOWN.get(name)
            if known is None or value is None or name in found:
                continue
            convert, words = known
            converted = convert(value)
            if converted is not None:
                found[name] = converted
            elif where is item or name == "access":
                raise _fault(position, name, words)
    return found


def _overlooked(item: dict[str, Any]) -> dict[str, Any] | None:
    """A label where nothing else is read: in metadata behind other metadata, beside the text in what wraps it; `{}` for
    one that is no label.
    """
    labels = [value.get("access") for _, value in _present(item, _LABELLED) if isinstance(value, dict)]
    label = next((one for one in labels if one is not None), None)
    return None if label is None else _as_label(label) or {}


def _text(item: dict[str, Any], position: int) -> str | None:
    """The first alias that holds one; None where all of them are null. No alias at all is an error."""
    usual = item.get("text")
    if isinstance(usual, str) and len(_TEXT_ROOTS.intersection(item)) == 1:
        return whole(usual)
    found = {
        path: None if value is None else _as_text(value, position, path)
        for path, value in _present(item, _TEXT)
        if path != "document" or not isinstance(value, dict)  # an object there was looked into by `document.text`
    }
    if not found:
        param = f"documents[{position}]"
        raise InvalidDocument(
            f"{param} has no text: none of {', '.join(path for path, _, _ in _TEXT)} is there.", param=param
        )
    said = {path: text for path, text in found.items() if text is not None}
    rivals = [path for path in _MUST_AGREE if path in said]
    for path in rivals[1:]:
        if said[path] != said[rivals[0]]:
            both = f"documents[{position}].{rivals[0]}", f"documents[{position}].{path}"
            raise InvalidDocument(f"{both[0]} and {both[1]} disagree.", param=", ".join(both))
    return next(iter(said.values()), None)


def _id(item: Any, position: int) -> str | None:
    """The most specific id that is given; None where there is none."""
    if not isinstance(item, dict):
        param = f"documents[{position}]"
        raise InvalidDocument(f"{param} must be an object or a string.", param=param)
    for path, value in _present(item, _ID):
        if value is not None:
            name = _as_string(value)
            if name is None or not 0 < len(name) <= MAX_ID:
                raise _fault(position, path, f"a string of 1 to {MAX_ID} characters, or a whole number")
            return name
    return None


def _metadata(item: dict[str, Any], position: int) -> dict[str, Any]:
    for path, value in _present(item, _METADATA):
        if isinstance(value, dict):
            return value
        if value is not None and path == "metadata":
            raise _fault(position, path, "an object")
    return {}


def _present(item: dict[str, Any], paths: _Paths) -> list[tuple[str, Any]]:
    """(path, value) of each path that is there, its value null or not."""
    found = []
    for path, outer, inner in paths:
        if outer in item:
            value = item[outer]
            if not inner:
                found.append((path, value))
            elif isinstance(value, dict) and inner in value:
                found.append((path, value[inner]))
    return found


def _fault(position: int, name: str, words: str) -> InvalidDocument:
    param = f"documents[{position}].{name}"
    return InvalidDocument(f"{param} must be {words}.", param=param)


def _as_text(value: Any, position: int, path: str) -> str:
    """A string, or the text parts that some vector stores return instead, joined by newlines."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in value]
        if all(isinstance(part, str) for part in parts):
            return whole("\n".join(map(str, parts)))
    raise _fault(position, path, "a string or null")


def _as_string(value: Any) -> str | None:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def _as_integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _as_strings(value: Any) -> tuple[str, ...] | None:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        return None
    return tuple(map(whole, values))


def _as_label(value: Any) -> dict[str, Any] | None:
    return _whole_within(value) if isinstance(value, dict) else None


def _whole_within(value: Any, depth: int = 0) -> Any:
    """Whole in all its texts; what is too deep becomes null, and no label that can be read has that."""
    if isinstance(value, str):
        return whole(value)
    if not isinstance(value, dict | list):
        return value
    if depth == _DEEPEST:
        return None
    if isinstance(value, list):
        return [_whole_within(one, depth + 1) for one in value]
    return {whole(name): _whole_within(one, depth + 1) for name, one in value.items()}


_STRING = (_as_string, "a string")
_STRINGS = (_as_strings, "an array of strings")
_NUMBER = (_as_number, "a finite number")
_KNOWN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "title": _STRING,
    "filename": _STRING,
    "file_name": _STRING,
    "section": _STRING,
    "source_id": _STRING,
    "source": _STRING,
    "chunk_index": (_as_integer, "a whole number"),
    "url": _STRING,
    "version": _STRING,
    "fetched_at": _STRING,
    "supersedes": _STRINGS,
    "score": _NUMBER,
    "relevance_score": _NUMBER,
    "rerank_score": _NUMBER,
    "novelty": _NUMBER,
    "lang": _STRING,
    "kind": _STRING,
    "summary": _STRING,
    "highlights": _STRINGS,
    "parent_id": _STRING,
    "anchor": _STRING,
    "access": (_as_label, "an object"),
}
