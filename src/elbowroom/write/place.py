"""The body that leaves: the client's bytes, with each permitted edit spliced in and named.

Knows: which members of a chat body each edit touches, and that whatever is not edited moves as bytes.
Does not know: why a message or a maximum was changed (the caller did it), HTTP, or what the evidence says.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from elbowroom.read.message import encode, join_members
from elbowroom.read.rawjson import elements, members
from elbowroom.records import Edit, Message, Model, Request
from elbowroom.write.echoes import is_ours, without_echoes

# Who refuses `max_tokens`, by family or name. Everybody else's compatible server knows it; some ignore the newer member
# in silence, and a cap that is ignored is none.
_REASONING = ("o1", "o3", "o4", "gpt-5", "gpt-6")
_TAGS = ("documents", "context")
_MAXIMA = ("max_tokens", "max_completion_tokens")


class Placed(Struct, frozen=True):
    """The upstream's body, and the edits that were made here."""

    body: bytes
    edits: tuple[Edit, ...]
    output_limit: int | None = None  # tokens that the body lets one choice have; None: it says nothing of it


def place(
    request: Request,
    messages: Sequence[Message],
    *,
    model: Model,
    ask_usage: bool,
    max_tokens: int | None,
    output_cap: int | None,
    made: Sequence[Edit] = (),
) -> Placed:
    """The body for the upstream; without any difference it is `request.body` itself.

    `messages` are the client's after the caller's own edits, which the caller names. `max_tokens` lowers the client's
    maximum for one choice and `output_cap` is sent where the client named none; None leaves things as they are. `made`:
    edits that `request.fields` already show and `request.body` does not.
    Annotations that a client echoes go from every body that is rewritten anyway; flags of our own rewrite it.
    """
    fields = dict(request.fields)
    limited, limit = _limit_output(fields, request, model, max_tokens, output_cap)
    edits = [
        *made,
        *_remove_tags(fields, request),
        *_map_model(fields, request, model),
        *(_ask_usage(fields, request) if ask_usage else ()),
        *limited,
    ]
    came = [message.raw for message in request.messages]
    raws = [message.raw for message in messages]
    if not edits and raws == came and not any(map(is_ours, messages)):
        return Placed(request.body, (), limit)
    told = [without_echoes(message) for message in messages]
    if told != raws:
        edits.append(Edit.ANNOTATIONS_STRIPPED)
        raws = told
    if raws != came:
        fields["messages"] = b"[" + b",".join(raws) + b"]"
    return Placed(join_members(fields), tuple(dict.fromkeys(edits)), limit)


def with_evidence(message: Message, evidence: str, behind: int | None = None) -> Message:
    """The message with the evidence before its text, whose bytes stay the client's own.

    A string content begins with the evidence; a list of parts gets it as a new text part, the first one, or the one
    that has `behind` parts behind it, or all where they have become fewer.
    """
    values = members(message.raw)
    raw, content = values["content"], message.value["content"]
    if isinstance(content, str):
        values["content"] = encode(evidence)[:-1] + raw[1:]
        content = evidence + content
    else:
        part = {"type": "text", "text": evidence}
        at = 0 if behind is None else max(0, len(content) - behind)
        parts = elements(raw)
        rest = raw[1:] if not at else b",".join(parts[at:]) + b"]"
        before = b"".join(one + b"," for one in parts[:at])
        values["content"] = b"[" + before + encode(part) + (b"," if content[at:] else b"") + rest
        content = [*content[:at], part, *content[at:]]
    return Message(join_members(values), {**message.value, "content": content})


def _remove_tags(fields: dict[str, bytes], request: Request) -> list[Edit]:
    """What was read as a tag goes. `documents` among the parameters is the provider's own and stays."""
    tags = [name for name in _TAGS if name in fields and name not in request.params]
    for name in tags:
        del fields[name]
    return [Edit.TAGS_REMOVED] if tags else []


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


def _limit_output(
    fields: dict[str, bytes], request: Request, model: Model, max_tokens: int | None, output_cap: int | None
) -> tuple[list[Edit], int | None]:
    """The edits, and the maximum that is left in the end: of two the larger, since who reads which is not known."""
    named = [name for name in _MAXIMA if request.params.get(name) is not None]
    if named:
        above = [name for name in named if max_tokens is not None and request.params[name] > max_tokens]
        fields.update((name, encode(max_tokens)) for name in above)
        largest: int = max(request.params[name] for name in named)
        return [Edit.OUTPUT_CLAMPED] if above else [], largest if max_tokens is None else min(largest, max_tokens)
    if output_cap is None:
        return [], None
    fields[output_limit(model)] = encode(output_cap)
    return [Edit.OUTPUT_CAPPED], output_cap


def output_limit(model: Model) -> str:
    """The member by which that model is told the most that it may answer."""
    reasons = model.family.startswith(_REASONING) or model.upstream_model.rpartition("/")[2].startswith(_REASONING)
    return "max_completion_tokens" if reasons else "max_tokens"
