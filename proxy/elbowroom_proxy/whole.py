"""An answer that comes in one piece: what is read from it, and what is put into it.

Knows: where usage, finish reasons, text and annotations stand in a chat completion.
Does not know: streams, headers, which parts of a content are text (`contents`), or what makes a label or a link right.
An error's body, or any other that is no chat completion, is handed back as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.write.answer import Reader, Watch
from elbowroom.write.citations import Citation
from elbowroom.write.echoes import FLAGS
from elbowroom.write.links import Link
from elbowroom_proxy import calls, contents, splice


class _Message(Struct):
    content: Any = None
    tool_calls: Any = None
    function_call: Any = None
    annotations: Any = None


class _Choice(Struct):
    message: _Message | None = None
    finish_reason: Any = None


class _Completion(Struct):
    choices: list[_Choice] | None = None
    usage: Any = None


_COMPLETION = msgspec.json.Decoder(_Completion)


class Whole(Struct, frozen=True):
    """The client's bytes, and what was seen on the way."""

    body: bytes  # the upstream's own object where nothing was added
    usage: dict[str, Any] | None = None
    finish_reasons: tuple[str | None, ...] = ()  # by choice; empty: no chat completion
    text_chars: int = 0  # characters of content, all choices together
    citations: tuple[Citation, ...] = ()  # every marker that is in the body, by choice and position
    invented: tuple[str, ...] = ()  # labels that nobody admitted, each once a choice
    foreign_links: tuple[Link, ...] = ()  # to hosts that nobody trusted named, by choice
    calls_refused: int = 0  # calls that are not in the body
    calls_tainted: int = 0  # calls that say what only others said
    refused: bool = False  # it cites what nobody gave out, and must not be handed on
    calls: tuple[str, ...] = ()  # names that the body calls, each once
    text: str = ""  # all that it says, its choices one after another

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; of several, the first."""
        return self.finish_reasons[0] if self.finish_reasons else None


def whole(body: bytes, watch: Watch) -> Whole:
    """Reads a chat completion, and splices in what is to be added. `watch`: what the answer is held against.

    Annotations of the upstream's own stay, in front of ours.
    """
    refused = tainted = 0
    if watch.tools is not None or watch.taint is not None:
        body, refused, tainted = calls.gated(body, watch.tools, watch.taint)
    completion = splice.read(body, _COMPLETION)
    if completion is None or completion.choices is None:
        return Whole(body)
    texts = ["".join(one.text for one in _said(choice)) for choice in completion.choices]
    readers = [Reader(watch) for _ in texts] if watch.reads_text else []
    for position, (reader, choice) in enumerate(zip(readers, completion.choices, strict=False)):
        said = _said(choice)
        shown = [reader.feed(one.text) for one in said]
        if said:
            shown[-1] += reader.finish()
        texts[position] = "".join(shown)
        if choice.message is not None:
            body = contents.replaced(body, said, shown, "choices", position, "message")
            body = _noted(body, position, choice.message, reader)
    return Whole(
        body,
        completion.usage if isinstance(completion.usage, dict) else None,
        tuple(None if choice.finish_reason is None else str(choice.finish_reason) for choice in completion.choices),
        sum(map(len, texts)),
        tuple(citation for reader in readers for citation in reader.citations),
        tuple(label for reader in readers for label in reader.invented),
        tuple(link for reader in readers for link in reader.foreign_links),
        refused,
        tainted,
        any(reader.refused for reader in readers),
        tuple(dict.fromkeys(name for choice in completion.choices for name in _called(choice.message))),
        "\n".join(texts),
    )


def with_report(said: Whole, report: bytes) -> bytes:
    """The body with the JSON of a `context_report`, where it is a chat completion."""
    return splice.add(said.body, "context_report", report) if said.finish_reasons else said.body


def _noted(body: bytes, position: int, message: _Message, reader: Reader) -> bytes:
    path = ("choices", position, "message")
    if notes := reader.annotations():
        body = _annotated(body, position, message, notes)
    if flagged := reader.flagged():
        body = splice.add(body, FLAGS, splice.quote(flagged), *path)
    return body


def _called(message: _Message | None) -> Iterator[str]:
    """The names of its calls."""
    if message is None:
        return
    listed = message.tool_calls if isinstance(message.tool_calls, list) else []
    for one in (*listed, {"function": message.function_call}):
        if name := calls.entry(one).name:
            yield name


def _said(choice: _Choice) -> list[contents.Text]:
    return contents.texts(choice.message.content) if choice.message is not None else []


def _annotated(body: bytes, position: int, message: _Message, notes: list[dict[str, Any]]) -> bytes:
    path = ("choices", position, "message")
    value = splice.quote(notes)
    if isinstance(message.annotations, list) and message.annotations:
        theirs = splice.find(body, *path, "annotations")
        return body[: theirs.end - 1].rstrip() + b"," + value[1:] + body[theirs.end :]
    try:
        return splice.replace(body, value, *path, "annotations")
    except KeyError:
        return splice.add(body, "annotations", value, *path)
