"""Documents that came inside messages, taken out of them: what is left, and where each goes back to.

Knows: the document parts of Cohere's and Anthropic's messages, and the results of tools that the policy names.
Does not know: whether a document may be read or is worth it, or how it is shown. Any other tool's result, and any text,
is left alone, whatever it looks like.

A part that holds no text (a file, an address) is not a document here; it travels as it came, unless it has a label that
nobody could hold it to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, structs

from elbowroom.errors import InvalidDocument, InvalidRequest
from elbowroom.read.documents import read_part, read_returned
from elbowroom.read.message import join_members
from elbowroom.read.policy import Policy
from elbowroom.read.rawjson import decode, elements, members, whole
from elbowroom.read.returned import returned
from elbowroom.records import Document, Edit, Message, Request

_PARTS = ("document", "search_result")
_LABELS_DEPTH = 2  # objects in an object that `documents` looks into for a label
_HOMES = ("user", "tool", "function")  # roles of messages that documents may come in, and go back to


class Lifted(Struct, frozen=True):
    """A request whose documents all stand in one list."""

    request: Request  # messages without documents; all documents, the tagged first; tagged, if there is any
    homes: Mapping[int, int] = {}  # message -> how many of its parts stand behind the place of its documents
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()


def lift(request: Request, names: Mapping[int, str], policy: Policy) -> Lifted:
    """Takes documents out of parts (unless the policy leaves documents to the provider, or looks into a tool's results
    itself) and named tools' results.

    `names` are the tools' names by message. Raises `InvalidDocument` for a part that cannot be read, its `param` naming
    message and part; a tool's result is always read somehow.
    """
    messages, homes, notes = list(request.messages), dict[int, int](), list[str]()
    found = list(request.documents)
    tagged = len(found)  # by the client, here or in parts
    edits: list[Edit] = []
    for index, message in enumerate(request.messages):
        tool = policy.tools.get(names.get(index, ""))
        if tool is not None and tool.returns == "documents":
            documents = list(_results(message, len(found), policy.max_documents, notes))
            messages[index], homes[index] = _without_text(message)
            edits.append(Edit.TOOL_RESULT_PACKED)
        elif policy.documents == "ours" and not (tool is not None and tool.looks_inside):
            documents, parts = _parts(message, index, len(found))
            if not parts:
                continue
            if message.role not in _HOMES:
                raise InvalidDocument(
                    f"messages[{index}] is a message of the role {message.role}; documents belong in user and tool "
                    "messages.",
                    param=f"messages[{index}].content[{parts[0]}]",
                )
            tagged += len(parts)
            if tagged > policy.max_documents:
                raise InvalidDocument(
                    f"A request may hold {policy.max_documents} documents at most; with messages[{index}] there are "
                    f"{tagged}.",
                    param=f"messages[{index}].content",
                )
            messages[index], homes[index] = _without(message, parts)
            edits.append(Edit.TAGS_REMOVED)
        else:
            continue
        found += (structs.replace(document, message=index) for document in documents)
    if not homes:
        return Lifted(request)
    whole_request = structs.replace(request, messages=tuple(messages), documents=tuple(_told_apart(found)), tagged=True)
    return Lifted(whole_request, homes, tuple(dict.fromkeys(edits)), tuple(notes))


def _told_apart(documents: list[Document]) -> Iterator[Document]:
    """The same with another id for each that has an earlier one's and says something else: searches may overlap.

    In linear time, and no id grows long, however many have the same one.
    """
    texts: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}  # by id and text as they came
    times: dict[str, int] = {}
    for document in documents:
        came = name, text = document.id, document.text or ""
        name = names.get(came, name)
        while texts.setdefault(name, text) != text:
            times[document.id] = number = times.get(document.id, 0) + 1
            name = f"{document.id}'{number if number > 1 else ''}"
        names[came] = name
        yield document if name == document.id else structs.replace(document, id=name)


# --- parts ----------------------------------------------------------------------------------------------------------


def _parts(message: Message, index: int, first: int) -> tuple[list[Document], list[int]]:
    """The documents of a message's parts, and which parts those are."""
    content = message.value.get("content")
    documents: list[Document] = []
    parts: list[int] = []
    for at, part in enumerate(content if isinstance(content, list) else ()):
        item, where = _document_in(part) if part.get("type") in _PARTS else None, f"messages[{index}].content[{at}]"
        if item is None and part.get("type") in _PARTS and "access" in _shown(part):
            raise InvalidDocument(f"{where} has an access label and no text that could be held back.", param=where)
        if item is None:
            continue
        documents.append(read_part(item, first + len(documents), where))
        parts.append(at)
    return documents, parts


def _document_in(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document of a part, in a shape that `documents` knows; None where it has no text for us."""
    shown = _shown(part)
    if part["type"] == "search_result":
        source = part.get("source")
        return {**shown, "text": part.get("content"), **({"source": source} if source is not None else {})}
    source, inside = part.get("source"), part.get("document")
    if isinstance(inside, dict):
        return {**shown, **_opened(inside)}
    if isinstance(inside, str):
        return {**shown, "text": inside}
    if not isinstance(source, dict):
        return {name: value for name, value in part.items() if name != "type"} if "text" in part else None
    if source.get("type") == "text":
        return {**shown, "text": source.get("data")}
    return {**shown, "text": source.get("content")} if source.get("type") == "content" else None


def _shown(part: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside a part's text and is the document's; its label may stand in metadata or source as well."""
    shown = {name: part[name] for name in ("title", "id") if part.get(name) is not None}
    where = (one for one in (part, part.get("metadata"), part.get("source")) if isinstance(one, dict))
    label = next((one["access"] for one in where if one.get("access") is not None), None)
    return shown if label is None else {**shown, "access": label}


def _opened(document: Mapping[str, Any]) -> dict[str, Any]:
    """Cohere's document: what it says is in `data`, as an object or as its JSON.

    Its access label is its own; text that happens to be JSON cannot give itself one.
    """
    data = document.get("data")
    if isinstance(data, str):
        try:
            data = decode(whole(data).encode())
        except InvalidRequest:
            data = {"text": data}
        if not isinstance(data, dict):
            data = {"text": document["data"]}
        data = _unlabelled(data)
    if not isinstance(data, dict):
        return dict(document)
    own = {name: value for name, value in document.items() if name != "data"}
    return {**own, **data, **({"access": own["access"]} if own.get("access") is not None else {})}


def _unlabelled(value: Any, depth: int = 0) -> Any:
    """The value without labels, wherever a document's could stand."""
    if not isinstance(value, dict) or depth > _LABELS_DEPTH:
        return value
    return {name: _unlabelled(one, depth + 1) for name, one in value.items() if name != "access"}


def _without(message: Message, parts: list[int]) -> tuple[Message, int]:
    """The message without these parts, and how many parts stand behind the first of them."""
    values = members(message.raw)
    raw, content = elements(values["content"]), message.value["content"]
    kept = [at for at in range(len(content)) if at not in parts]
    if not kept:
        return _with_content(message, values, b'""', ""), 0
    joined = b"[" + b",".join(raw[at] for at in kept) + b"]"
    return _with_content(message, values, joined, [content[at] for at in kept]), sum(at > parts[0] for at in kept)


# --- results --------------------------------------------------------------------------------------------------------


def _results(message: Message, first: int, most: int, notes: list[str]) -> tuple[Document, ...]:
    content = message.value.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    found = [item for part in parts if part.get("type") in _PARTS and (item := _document_in(part)) is not None]
    texts = [part["text"] for part in parts if part.get("type") not in _PARTS and isinstance(part.get("text"), str)]
    found += returned(texts)
    if len(found) > most:
        notes.append(f"of {len(found)} documents that a tool returned the first {most} are looked at")
    return read_returned(found[:most], first)


def _without_text(message: Message) -> tuple[Message, int]:
    """The message without what was read as documents."""
    content = message.value.get("content")
    if not isinstance(content, list):
        return _with_content(message, members(message.raw), b'""', ""), 0
    texts = [
        at
        for at, part in enumerate(content)
        if isinstance(part.get("text"), str) or (part.get("type") in _PARTS and _document_in(part) is not None)
    ]
    return _without(message, texts or [len(content)])


def _with_content(message: Message, values: dict[str, bytes], raw: bytes, content: Any) -> Message:
    return Message(join_members({**values, "content": raw}), {**message.value, "content": content})
