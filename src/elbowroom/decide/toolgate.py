"""Which tools the model may call: the client's, less those that somebody who is trusted did not allow.

Knows: the request's own members, and lists of names that were allowed to its key, by the policy, and for the class that
the client named.
Does not know: documents, results, or which class a question was taken for. Nothing that a document says, and no guess,
can give or take a tool; lists can only take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from elbowroom.errors import InvalidRequest
from elbowroom.read.message import encode
from elbowroom.read.rawjson import elements, unambiguous

_LISTS = {"tools": ("tool_choice", "parallel_tool_calls"), "functions": ("function_call",)}


class ToolsOut(Struct, frozen=True):
    """The members of a body, and what became of its tools."""

    fields: Mapping[str, bytes]  # raw, in the client's order
    params: Mapping[str, Any]  # the same, decoded
    names: frozenset[str]  # that may be called
    removed: tuple[str, ...] = ()


def tools_out(
    fields: Mapping[str, bytes], params: Mapping[str, Any], allowed: Iterable[Collection[str] | None]
) -> ToolsOut:
    """The same members with the tools that are on every list; None is no list. What is left keeps its bytes.

    Raises `InvalidRequest` where the client demands a tool that was removed, and, where there is a list, for a tool
    that gives a member twice: its upstream might read the other one. A list of tools that is empty afterwards goes, and
    with it what speaks of it.
    """
    lists = [names for names in allowed if names is not None]
    kept_fields, kept_params = dict(fields), dict(params)
    names: set[str] = set()
    removed: list[str] = []
    for member, about in _LISTS.items():
        tools = params.get(member) or []
        if tools and lists and not unambiguous(fields[member].decode()):
            raise InvalidRequest(f"A member of a tool in {member} is given twice.", param=member)
        stays = [all(name_of(tool, member) in some for some in lists) for tool in tools]
        kept = [tool for tool, keep in zip(tools, stays, strict=True) if keep]
        names.update(name for tool in kept for name in names_of(tool, member))
        gone = [name_of(tool, member) for tool, keep in zip(tools, stays, strict=True) if not keep]
        removed += gone
        _refuse_demands(params, about[0], gone)
        if gone and any(stays):
            raw = [one for one, keep in zip(elements(fields[member]), stays, strict=True) if keep]
            kept_fields[member] = b"[" + b",".join(raw) + b"]"
            kept_params[member] = kept
        elif gone:
            for name in (member, *about):
                kept_fields.pop(name, None)
                kept_params.pop(name, None)
    return ToolsOut(kept_fields, kept_params, frozenset(names), tuple(dict.fromkeys(removed)))


def name_of(tool: Mapping[str, Any], member: str = "tools") -> str:
    """What lists know it by: a function's or custom tool's name; a provider's own tool is known by its type.

    Read as an upstream reads it, and no further: whatever else is in it could be another tool's name.
    """
    kind = tool.get("type", "function") if member == "tools" else "function"
    if kind not in ("function", "custom"):
        return str(kind)
    inside = tool.get(kind) if member == "tools" else None
    return str((inside if isinstance(inside, dict) else tool).get("name"))


def names_of(tool: Mapping[str, Any], member: str = "tools") -> frozenset[str]:
    """The same, and the name of a provider's own tool, where it has one: calls may go by that."""
    known, own = name_of(tool, member), tool.get("name")
    provided = member == "tools" and tool.get("type", "function") not in ("function", "custom")
    return frozenset([known, own]) if provided and isinstance(own, str) else frozenset([known])


def _refuse_demands(params: Mapping[str, Any], param: str, removed: Collection[str]) -> None:
    for name in _demanded(params.get(param), "functions" if param == "function_call" else "tools"):
        if name in removed:
            raise InvalidRequest(
                f"{param} names {encode(name).decode()}, a tool that is not allowed here.", param=param
            )


def _demanded(choice: Any, member: str) -> Iterator[str]:
    """Every tool that a `tool_choice` or `function_call` names."""
    if isinstance(choice, dict):
        yield name_of(choice, member)
        inside = choice.get("allowed_tools")
        for tool in (inside.get("tools") if isinstance(inside, dict) else None) or ():
            if isinstance(tool, dict):
                yield name_of(tool)
