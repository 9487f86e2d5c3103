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
from elbowroom.read.rawjson import elements

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

    Raises `InvalidRequest` where the client demands a tool that was removed. A list of tools that is empty afterwards
    goes, and with it what speaks of it.
    """
    lists = [names for names in allowed if names is not None]
    kept_fields, kept_params = dict(fields), dict(params)
    names: set[str] = set()
    removed: list[str] = []
    for member, about in _LISTS.items():
        tools = params.get(member) or []
        stays = [all(name_of(tool) in some for some in lists) for tool in tools]
        names.update(name_of(tool) for tool, keep in zip(tools, stays, strict=True) if keep)
        gone = [name_of(tool) for tool, keep in zip(tools, stays, strict=True) if not keep]
        removed += gone
        _refuse_demands(params, about[0], gone)
        if gone and any(stays):
            raw = [one for one, keep in zip(elements(fields[member]), stays, strict=True) if keep]
            kept_fields[member] = b"[" + b",".join(raw) + b"]"
            kept_params[member] = [tool for tool, keep in zip(tools, stays, strict=True) if keep]
        elif gone:
            for name in (member, *about):
                kept_fields.pop(name, None)
                kept_params.pop(name, None)
    return ToolsOut(kept_fields, kept_params, frozenset(names), tuple(dict.fromkeys(removed)))


def name_of(tool: Mapping[str, Any]) -> str:
    """What a tool is called by: a function's or custom tool's name; a provider's own tool is known by its type."""
    for kind in ("function", "custom"):
        inside = tool.get(kind)
        if tool.get("type", kind) == kind and isinstance(inside, dict):
            return str(inside.get("name"))
    return str(tool.get("name") or tool.get("type"))


def _refuse_demands(params: Mapping[str, Any], param: str, removed: Collection[str]) -> None:
    for name in _demanded(params.get(param)):
        if name in removed:
            raise InvalidRequest(
                f"{param} names {encode(name).decode()}, a tool that is not allowed here.", param=param
            )


def _demanded(choice: Any) -> Iterator[str]:
    """Every tool that a `tool_choice` or `function_call` names."""
    if isinstance(choice, dict):
        yield name_of(choice)
        inside = choice.get("allowed_tools")
        for tool in (inside.get("tools") if isinstance(inside, dict) else None) or ():
            if isinstance(tool, dict):
                yield name_of(tool)
