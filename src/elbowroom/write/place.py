"""The body that leaves: the client's bytes, with each permitted edit spliced in and named.

Knows: which members of a chat body each edit touches, and that whatever is not edited moves as bytes.
Does not know: why a message or a maximum was changed (the caller did it), HTTP, or what the evidence says.
"""

from __future__ import annotations

from collections.abc import Sequence

from elbowroom.read.message import encode, join_members, members
from elbowroom.records import Edit, Message, Model, Request

# Families that refuse `max_tokens`. Everybody else's compatible server knows it; some ignore the newer name in silence,
# and a cap that is ignored is none.
_COMPLETION_FAMILIES = ("o1", "o3", "o4", "o-", "gpt-5", "gpt-6")
_MAXIMA = ("max_tokens", "max_completion_tokens")


def place(
    request: Request,
    *,
    messages: Sequence[Message],
    evidence: str,
    at: int | None,
    model: Model,
    ask_usage: bool,
    max_tokens: int | None,
    strip_annotations: bool,
) -> tuple[bytes, tuple[Edit, ...]]:
    """The upstream's body, and the edits made here. Without any difference it is `request.body` itself.

    `messages` are the client's after the caller's own edits. `evidence` goes in front of the text of message `at`
    (`""` or None: nowhere). `max_tokens` is one choice's maximum: it lowers the client's, or caps where there is none;
    None leaves things as they are. Echoed annotations go only from a body that is being rewritten anyway.
    """
    fields = dict(request.fields)
    edits = [
        *_remove_tags(fields, request),
        *_map_model(fields, request, model),
        *(_ask_usage(fields, request) if ask_usage else ()),
        *(_limit_output(fields, request, model, max_tokens) if max_tokens is not None else ()),
    ]
    raws = [message.raw for message in messages]
    if evidence and at is not None:
        raws[at] = _with_evidence(messages[at], evidence)
        edits.append(Edit.EVIDENCE_ADDED)
    rewritten = bool(edits) or raws != [message.raw for message in request.messages]
    if not rewritten:
        return request.body, ()
    if strip_annotations:
        for index, message in enumerate(messages):
            if message.role == "assistant" and "annotations" in message.value:
                kept = members(raws[index])
                del kept["annotations"]
                raws[index] = join_members(kept)
                if Edit.ANNOTATIONS_STRIPPED not in edits:
                    edits.append(Edit.ANNOTATIONS_STRIPPED)
    if raws != [message.raw for message in request.messages]:
        fields["messages"] = b"[" + b",".join(raws) + b"]"
    return join_members(fields), tuple(edits)


def _remove_tags(fields: dict[str, bytes], request: Request) -> list[Edit]:
    """`documents` stays where it is the provider's, which is where the request was not read as tagged."""
    ours = ("documents", "context") if request.tagged else ("context",)
    return [Edit.TAGS_REMOVED] if [fields.pop(name) for name in ours if name in fields] else []


def _map_model(fields: dict[str, bytes], request: Request, model: Model) -> list[Edit]:
    if model.upstream_model == request.model:
        return []
    fields["model"] = encode(model.upstream_model)
    return [Edit.MODEL_MAPPED]


def _ask_usage(fields: dict[str, bytes], request: Request) -> list[Edit]:
    options = request.params.get("stream_options") or {}
    if not request.stream or options.get("include_usage") is not None:
        return []
    given = members(fields["stream_options"]) if options else {}
    fields["stream_options"] = join_members({**given, "include_usage": b"true"})
    return [Edit.USAGE_ASKED]


def _limit_output(fields: dict[str, bytes], request: Request, model: Model, limit: int) -> list[Edit]:
    named = [name for name in _MAXIMA if request.params.get(name) is not None]
    if not named:
        name = "max_completion_tokens" if model.family.startswith(_COMPLETION_FAMILIES) else "max_tokens"
        fields[name] = encode(limit)
        return [Edit.OUTPUT_CAPPED]
    above = [name for name in named if request.params[name] > limit]
    fields.update((name, encode(limit)) for name in above)
    return [Edit.OUTPUT_CLAMPED] if above else []


def _with_evidence(message: Message, evidence: str) -> bytes:
    """The message with the evidence before its text, whose bytes stay the client's own."""
    values = members(message.raw)
    content = values["content"]
    if isinstance(message.value["content"], str):
        values["content"] = encode(evidence)[:-1] + content[1:]
    else:
        part = join_members({"type": b'"text"', "text": encode(evidence)})
        values["content"] = b"[" + part + (b"," if message.value["content"] else b"") + content[1:]
    return join_members(values)
