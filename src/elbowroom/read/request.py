"""Bytes become a `Request`, or the one error that says why not.

Knows: the chat body's top level, the tags `documents` and `context`, the headers that carry the same, and the types of
every member that decides something.
Does not know: members that nothing here reads (they travel as they came), sizes (the service refuses large bodies
before this), policy, or who asks. Document parts inside messages are not documents yet; they are parts like any other.

Of nested objects (tools, schemas, parts) a member given twice is not noticed; at the top and in messages it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from elbowroom.errors import InvalidRequest, NoUserMessage
from elbowroom.read.documents import read_documents
from elbowroom.read.rawjson import decode, elements, members, whole
from elbowroom.read.shape import check_functions, check_message, check_names, check_tools, want
from elbowroom.records import Context, Document, Message, Request

MAX_NAME = 256  # characters of a class or conversation id
MAX_CHOICES = 128  # `n`: what the API documents

_NUMBER = ((int, float), "a number")
_OBJECT = ((dict,), "an object")
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "stream": ((bool,), "true or false"),
    "stream_options": _OBJECT,
    "n": ((int,), "a whole number"),
    "max_tokens": ((int,), "a whole number"),
    "max_completion_tokens": ((int,), "a whole number"),
    "tool_choice": ((str, dict), "a string or an object"),
    "function_call": ((str, dict), "a string or an object"),
    "parallel_tool_calls": ((bool,), "true or false"),
    "response_format": _OBJECT,
    "reasoning_effort": ((str,), "a string"),
    "reasoning": _OBJECT,
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "presence_penalty": _NUMBER,
    "frequency_penalty": _NUMBER,
    "seed": ((int,), "a whole number"),
    "stop": ((str, list), "a string or an array"),
    "user": ((str,), "a string"),
    "logit_bias": _OBJECT,
    "metadata": _OBJECT,
}
_TAGS = ("documents", "context")
# What is read of a request, here or of its parameters elsewhere.
_READ = frozenset({
    *_TYPES, *_TAGS, "model", "messages", "tools", "functions", "prediction", "service_tier", "thinking", "best_of",
    "n_cmpl", "n_predict",
})  # fmt: skip
_SWITCH = {"1": True, "true": True, "0": False, "false": False}


def read_request(
    body: bytes,
    headers: Mapping[str, str],
    *,
    max_documents: int,
    documents: Literal["ours", "upstream"] = "ours",
) -> Request:
    """The request as it came, its parts decoded and checked.

    `headers` have lower-case names. `documents: null` counts as not tagged (and is removed like any tag). With
    `documents="upstream"` the member is the provider's: it stays an ordinary one, found in `params`.
    Raises `InvalidRequest`, `InvalidDocument`, `NoUserMessage`.
    """
    fields = members(body)
    check_names(fields, _READ)
    tags = _TAGS if documents == "ours" else ("context",)
    params = {name: decode(raw, name) for name, raw in fields.items() if name != "messages" and name not in tags}
    _check_params(params)
    messages = _read_messages(fields)
    found: tuple[Document, ...] = ()
    tagged = documents == "ours" and fields.get("documents", b"null") != b"null"
    if tagged:
        found = read_documents(decode(fields["documents"], "documents"), max_documents)
        if not any(message.role == "user" for message in messages):
            raise NoUserMessage("Documents need a user message to stand in front of; there is none.", param="messages")
    return Request(
        body=body,
        fields=fields,
        model=params["model"],
        messages=messages,
        documents=found,
        tagged=tagged,
        context=_read_context(decode(fields.get("context", b"null"), "context"), headers, len(messages)),
        params=params,
        stream=bool(params.get("stream")),
    )


def _read_messages(fields: Mapping[str, bytes]) -> tuple[Message, ...]:
    if not fields.get("messages", b"").startswith(b"["):
        raise InvalidRequest("messages must be an array of messages.", param="messages")
    messages = []
    for i, raw in enumerate(elements(fields["messages"], "messages")):
        param = f"messages[{i}]"
        value = decode(raw, param)
        check_message(value, param)
        if raw.count(b":") > len(value):  # each member has its own; only with more can one be there twice
            members(raw, param)
        messages.append(Message(raw, value))
    if not messages:
        raise InvalidRequest("messages must not be empty.", param="messages")
    return tuple(messages)


def _check_params(params: Mapping[str, Any]) -> None:
    model = params.get("model")
    if not isinstance(model, str) or not model.strip() or whole(model) != model:
        raise InvalidRequest("model must be the name of a model.", param="model")
    for name, value in params.items():
        if value is not None and name in _TYPES:
            kinds, words = _TYPES[name]
            want(value, kinds, name, words)
    for name in ("n", "max_tokens", "max_completion_tokens"):
        if params.get(name) is not None and params[name] < 1:
            raise InvalidRequest(f"{name} must be at least 1.", param=name)
    if (params.get("n") or 1) > MAX_CHOICES:
        raise InvalidRequest(f"n must be at most {MAX_CHOICES}.", param="n")
    if params.get("tools") is not None:
        check_tools(params["tools"], "tools")
    if params.get("functions") is not None:
        check_functions(params["functions"], "functions")
    if params.get("response_format") is not None:
        _check_format(params["response_format"])
    effort = (params.get("reasoning") or {}).get("effort")
    if effort is not None:
        want(effort, str, "reasoning.effort", "a string")


def _check_format(form: Mapping[str, Any]) -> None:
    want(form.get("type"), str, "response_format.type", "a string")
    if form["type"] == "json_schema":
        want(form.get("json_schema"), dict, "response_format.json_schema", "an object")
        if form["json_schema"].get("schema") is not None:
            want(form["json_schema"]["schema"], dict, "response_format.json_schema.schema", "an object")


def _read_context(value: Any, headers: Mapping[str, str], messages: int) -> Context:
    """Member by member the body wins over the header. An unknown member is an error: a slip would else go unseen."""
    context = {} if value is None else value
    want(context, dict, "context", "an object")
    for name in context:
        if name not in ("class", "conversation_id", "examples", "explain"):
            raise InvalidRequest("context has a member that is not known.", param=f"context.{whole(name)[:MAX_NAME]}")
    return Context(
        query_class=_name(context.get("class"), "context.class", headers, "x-elbowroom-class"),
        conversation_id=_name(
            context.get("conversation_id"), "context.conversation_id", headers, "x-elbowroom-conversation"
        ),
        examples=_examples(context.get("examples"), messages),
        explain=_explain(context.get("explain"), headers),
    )


def _name(value: Any, param: str, headers: Mapping[str, str], header: str) -> str | None:
    if value is None:
        value, param = headers.get(header), header
    if value is None:
        return None
    want(value, str, param, "a string")
    if not value.strip() or len(value) > MAX_NAME:
        raise InvalidRequest(f"{param} must have 1 to {MAX_NAME} characters.", param=param)
    return whole(value)


def _examples(value: Any, messages: int) -> tuple[int, ...]:
    if value is None:
        return ()
    want(value, list, "context.examples", "an array of message indexes")
    for i, index in enumerate(value):
        want(index, int, f"context.examples[{i}]", "a message index")
        if not 0 <= index < messages:
            raise InvalidRequest(
                f"context.examples[{i}] must be an index into messages, 0 to {messages - 1}.",
                param=f"context.examples[{i}]",
            )
    return tuple(sorted(set(value)))


def _explain(value: Any, headers: Mapping[str, str]) -> bool:
    if value is not None:
        want(value, bool, "context.explain", "true or false")
        return bool(value)
    said = headers.get("x-elbowroom-explain", "false").strip().lower()
    if said not in _SWITCH:
        raise InvalidRequest("x-elbowroom-explain must be true or false.", param="x-elbowroom-explain")
    return _SWITCH[said]
