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
from elbowroom.read.shape import check_tool_names

_NAMED = ("function", "custom")  # types of tools that are known by their name
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
    that gives a member twice, or in other letters: its upstream might read the other one. A list of tools that is empty
    afterwards goes, and with it what speaks of it.
    """
    lists = [names for names in allowed if names is not None]
    kept_fields, kept_params = dict(fields), dict(params)
    names: set[str] = set()
    removed: list[str] = []
    for member, about in _LISTS.items():
        tools = params.get(member) or []
        if tools and lists:
            check_tool_names(tools, member)
            if not unambiguous(fields[member].decode()):
                raise InvalidRequest(f"A member of a tool in {member} is given twice.", param=member)
        stays = [all(name_of(tool, member) in some for some in lists) for tool in tools]
        kept = [tool for tool, keep in zip(tools, stays, strict=True) if keep]
        names.update(name for tool in kept for name in _callable(tool, member, lists))
        gone = [tool for tool, keep in zip(tools, stays, strict=True) if not keep]
        removed += [name_of(tool, member) for tool in gone]
        _refuse_demands(params, about[0], {name for tool in gone for name in names_of(tool, member)} - names)
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
    if kind not in _NAMED:
        return str(kind)
    inside = tool.get(kind) if member == "tools" else None
    return str((inside if isinstance(inside, dict) else tool).get("name"))


def names_of(tool: Mapping[str, Any], member: str = "tools") -> frozenset[str]:
    """The same, and the names of a provider's own tool, where it has any: calls may go by those."""
    known = name_of(tool, member)
    if member != "tools" or tool.get("type", "function") in _NAMED:
        return frozenset([known])
    return frozenset(name for name in (known, tool.get("name"), _inside(tool)) if isinstance(name, str))


def _inside(tool: Mapping[str, Any]) -> Any:
    """The name of the function in a tool."""
    inside = tool.get("function")
    return inside.get("name") if isinstance(inside, dict) else None


def _callable(tool: Mapping[str, Any], member: str, lists: Collection[Collection[str]]) -> Iterator[str]:
    """The names by which an answer may call it. A function inside of a provider's own tool has to be on the lists as
    well: some upstreams take it for a function whatever the type says.
    """
    for name in names_of(tool, member):
        if name in (name_of(tool, member), tool.get("name")) or all(name in some for some in lists):
            yield name


def _refuse_demands(params: Mapping[str, Any], param: str, removed: Collection[str]) -> None:
    for name in _demanded(params.get(param), "functions" if param == "function_call" else "tools"):
        if name in removed:
            raise InvalidRequest(
                f"{param} names {encode(name).decode()}, a tool that is not allowed here.", param=param
            )


def _demanded(choice: Any, member: str) -> Iterator[str]:
    """Every tool that a `tool_choice` or `function_call` names."""
    if isinstance(choice, dict):
        yield from names_of(choice, member)
        inside = choice.get("allowed_tools")
        listed = (inside if isinstance(inside, dict) else choice).get("tools")
        for tool in listed if isinstance(listed, list) else ():
            if isinstance(tool, dict):
                yield from names_of(tool)
