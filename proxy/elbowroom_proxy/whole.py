"""An answer that comes in one piece: what is read from it, and what is put into it.

Knows: where usage, finish reasons, text and annotations stand in a chat completion.
Does not know: streams, headers, or which passages the labels stand for. An error's body, or any other that is no chat
completion, is handed back as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec import Struct

from elbowroom.records import Source
from elbowroom.write.citations import Citation, Verifier, url_citations
from elbowroom_proxy import calls, splice


class _Message(Struct):
    content: Any = None
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
    citations: tuple[Citation, ...] = ()  # every marker, admitted or invented, by choice and position
    invented: tuple[str, ...] = ()  # labels that nobody admitted, each once a choice
    calls_refused: int = 0  # calls to tools that the request did not have; none of them is in the body

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ended; of several, the first."""
        return self.finish_reasons[0] if self.finish_reasons else None


def whole(
    body: bytes,
    *,
    report: bytes | None,
    verifier: Callable[[], Verifier] | None,
    sources: tuple[Source, ...],
    tools: Collection[str] | None = None,
) -> Whole:
    """Reads a chat completion, and splices in what is to be added.

    `report`: JSON of a `context_report`. `verifier` makes one verifier a choice; without it no text is looked at.
    `sources`: what may be said of the admitted passages. `tools`: the names that may be called; None: nobody looks.
    Annotations of the upstream's own stay, in front of ours.
    """
    body, refused = (body, 0) if tools is None else calls.gated(body, tools)
    completion = splice.read(body, _COMPLETION)
    if completion is None or completion.choices is None:
        return Whole(body)
    texts = [_text(choice) for choice in completion.choices]
    verifiers = [verifier() for _ in texts] if verifier is not None else []
    for position, (one, text, choice) in enumerate(zip(verifiers, texts, completion.choices, strict=False)):
        one.feed(text)
        one.finish()
        if (notes := url_citations(one.citations, sources)) and choice.message is not None:
            body = _annotated(body, position, choice.message, notes)
    if report is not None:
        body = splice.add(body, "context_report", report)
    return Whole(
        body,
        completion.usage if isinstance(completion.usage, dict) else None,
        tuple(None if choice.finish_reason is None else str(choice.finish_reason) for choice in completion.choices),
        sum(map(len, texts)),
        tuple(citation for one in verifiers for citation in one.citations),
        tuple(label for one in verifiers for label in one.invented),
        refused,
    )


def _text(choice: _Choice) -> str:
    content = choice.message.content if choice.message is not None else None
    return content if isinstance(content, str) else ""


def _annotated(body: bytes, position: int, message: _Message, notes: list[dict[str, Any]]) -> bytes:
    path = ("choices", position, "message")
    value = msgspec.json.encode(notes)
    if isinstance(message.annotations, list) and message.annotations:
        theirs = splice.find(body, *path, "annotations")
        return body[: theirs.end - 1].rstrip() + b"," + value[1:] + body[theirs.end :]
    try:
        return splice.replace(body, value, *path, "annotations")
    except KeyError:
        return splice.add(body, "annotations", value, *path)
