"""Which part of the request each message is, so that a cut never takes half of something.

Knows: instructions, examples, earlier turns, the question, and what follows it; that a tool's result belongs to the
call that asked for it.
Does not know: what any part costs, or which of them will be cut.

Rules, the first that fits: system and developer messages are instructions wherever they stand; the last user message is
the question, even where it is named an example; a tool result goes where its call is; then examples by name or by the
client's word; then what stands before the question is in turns, each from a user message on; what stands behind it is
in groups. A tool result whose call is nowhere stays with what precedes it, for the upstream to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from elbowroom.read.rawjson import whole
from elbowroom.records import Request, Split

EXAMPLE_NAMES = frozenset({"example_user", "example_assistant"})


def split(request: Request) -> Split:
    """Every message in exactly one part; the indexes inside each part ascend."""
    messages = request.messages
    question = max((i for i, message in enumerate(messages) if message.role == "user"), default=None)
    marked = set(request.context.examples)
    instructions: list[int] = []
    examples: list[int] = []
    turns: list[list[int]] = []
    tail: list[list[int]] = []
    home: dict[int, list[int]] = {}  # message -> the part that holds it
    callers = _callers(request)
    for i, message in enumerate(messages):
        if message.role in ("system", "developer"):
            home[i] = instructions
        elif i == question:
            continue
        elif i in callers:
            home[i] = home[callers[i][0]]
        elif i in marked or message.value.get("name") in EXAMPLE_NAMES:
            home[i] = examples
        else:
            groups = turns if question is None or i < question else tail
            if not groups or _begins(message.role, groups is turns):
                groups.append([])
            home[i] = groups[-1]
        home[i].append(i)
    return Split(
        instructions=tuple(instructions),
        examples=tuple(examples),
        turns=tuple(tuple(turn) for turn in turns),
        question=question,
        tail=tuple(tuple(group) for group in tail),
    )


def tool_names(request: Request) -> dict[int, str]:
    """For each tool or function message whose tool is known, by its call or else by its own word, that tool's name."""
    callers = _callers(request)
    names = {}
    for i, message in enumerate(request.messages):
        if message.role in ("tool", "function"):
            name = callers[i][1] if i in callers else message.value.get("name")
            if name is not None:
                names[i] = whole(name)
    return names


def _begins(role: str, in_turns: bool) -> bool:
    """Whether a message of that role opens a new turn, or behind the question a new group."""
    return role == "user" if in_turns else role not in ("tool", "function")


def _callers(request: Request) -> dict[int, tuple[int, str]]:
    """For each result: the nearest assistant message before it that made the call, and the name that was called.

    Where several calls of one message have the same id, or none to speak of, their results come in their order.
    """
    calls: dict[tuple[str, str], list[tuple[int, str]]] = {}  # (role of the answer, id or name) -> who called what
    callers = {}
    for i, message in enumerate(request.messages):
        if message.role == "assistant":
            made: dict[tuple[str, str], list[tuple[int, str]]] = {}
            for key, name in _calls(message.value):
                made.setdefault(key, []).append((i, name))
            calls.update(made)
        answers = message.value.get("tool_call_id" if message.role == "tool" else "name")
        if answers is not None and (message.role, answers) in calls:
            waiting = calls[message.role, answers]
            callers[i] = waiting.pop(0) if len(waiting) > 1 else waiting[0]
    return callers


def _calls(assistant: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    for call in assistant.get("tool_calls") or ():
        called = call.get("function") or call.get("custom")
        if call.get("id") is not None:
            yield ("tool", call["id"]), called["name"]
    called = assistant.get("function_call")
    if called is not None:
        yield ("function", called["name"]), called["name"]
