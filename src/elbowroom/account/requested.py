"""What a record says of the request itself: its instructions, its tools, and what followed from each result.

Knows: which of a request's parts answer a reviewer's questions, and that their texts are known by keyed hashes alone.
Does not know: what was decided about them, or where a text is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from elbowroom.decide.fates import keyed
from elbowroom.decide.toolgate import name_of
from elbowroom.read.split import tool_names
from elbowroom.records import Decision, Message, Request

UNKNOWN = "(unknown)"  # a call in the answer to something that the request has no tool for
_LONGEST = 128  # characters of a name
_INSTRUCTS = ("system", "developer")
_RESULTS = ("tool", "function")


class Instruction(Struct, frozen=True):
    """One system or developer message."""

    message: int  # index in the client's messages
    role: str
    digest: str  # keyed hash of its text
    bytes: int


class RemovedTool(Struct, frozen=True):
    """One tool that the model was not offered."""

    name: str
    by: tuple[str, ...] = ()  # whose list lacks it: "policy", "class", "key"; or "label": a document's forbids it


class Tools(Struct, frozen=True):
    """The request's tools, by name."""

    requested: tuple[str, ...] = ()
    admitted: tuple[str, ...] = ()
    removed: tuple[RemovedTool, ...] = ()


class ResultSince(Struct, frozen=True):
    """One tool result behind the last question, and what was called when it was known."""

    message: int
    tool: str | None
    digest: str  # keyed hash of its text, as the client sent it
    bytes: int
    followed_by: tuple[str, ...] = ()  # names; empty: no call followed
    answer: bool = False  # what followed is this request's answer, not a message of it


def instructions(request: Request, key: bytes) -> tuple[tuple[Instruction, str], ...]:
    """Each with its text."""
    return tuple(
        (Instruction(index, message.role, keyed(message.text, key), _size(message)), message.text)
        for index, message in enumerate(request.messages)
        if message.role in _INSTRUCTS
    )


def tools(request: Request, decision: Decision | None) -> Tools:
    """What was asked for, and what became of it; without a decision nothing was admitted."""
    asked = _once(_clipped(name) for name in _names(request.params))
    if decision is None:
        return Tools(asked)
    by = decision.tools_removed_by
    removed = tuple(RemovedTool(_clipped(name), by.get(name, ())) for name in decision.tools_removed)
    gone = {one.name for one in removed}
    return Tools(asked, tuple(name for name in asked if name not in gone), removed)


def results_since(request: Request, calls: Sequence[str], key: bytes) -> tuple[ResultSince, ...]:
    """The results behind the last user message. `calls` are the names that the answer calls."""
    messages, names = request.messages, tool_names(request)
    question = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    known = set(_names(request.params))
    answered = _once(_clipped(name) if name in known else UNKNOWN for name in calls)
    told = []
    for index in range(question + 1, len(messages)):
        message = messages[index]
        if message.role not in _RESULTS:
            continue
        next_one = next((one for one in messages[index + 1 :] if one.role == "assistant"), None)
        followed = answered if next_one is None else _once(_clipped(name) for name in _called(next_one))
        name = names.get(index)
        told.append(
            ResultSince(
                index,
                _clipped(name) if name is not None else None,
                keyed(message.text, key),
                _size(message),
                followed,
                answer=next_one is None,
            )
        )
    return tuple(told)


def _names(params: Mapping[str, Any]) -> Iterator[str]:
    for member in ("tools", "functions"):
        for tool in params.get(member) or ():
            yield name_of(tool, member)


def _called(message: Message) -> Iterator[str]:
    """The names that an assistant's message calls."""
    for call in message.value.get("tool_calls") or ():
        called = call.get("function") or call.get("custom") or {}
        yield str(called.get("name"))
    if (called := message.value.get("function_call")) is not None:
        yield str(called.get("name"))


def _size(message: Message) -> int:
    return len(message.text.encode("utf-8", "surrogatepass"))


def _clipped(name: str) -> str:
    return name[:_LONGEST]


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
