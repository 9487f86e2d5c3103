"""The request as the walk goes on with it: documents in one list, tools that are allowed, results that may be shown.

Knows: what is done to a request before anything is counted, in every mode.
Does not know: tokens, what is chosen or cut later, or the bytes that leave.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.decide.results import Checked, check_results, with_result
from elbowroom.decide.toolgate import tools_out
from elbowroom.read.embedded import lift
from elbowroom.read.policy import Policy
from elbowroom.read.split import tool_names
from elbowroom.records import Edit, Principal, Request


class Ready(Struct, frozen=True):
    request: Request  # as it goes on; its `body` is still the client's
    came: Request  # the client's messages, and the members that leave
    names: Mapping[int, str] = {}  # the tools' names by message
    homes: Mapping[int, int] = {}  # message -> how many of its parts stand behind the place of its documents
    results: Mapping[int, Checked] = {}
    tools: frozenset[str] | None = None  # the only names that an answer may call; None: nobody looks
    tools_removed: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def results_changed(self) -> bool:
        return any(checked.changed for checked in self.results.values())


def ready(request: Request, policy: Policy, principal: Principal, known: Known) -> Ready:
    """Raises `InvalidDocument` and `InvalidRequest`: for a document part, and for a tool that is demanded and removed.

    Of the classes only one that the client names has a say about tools.
    """
    names = tool_names(request)
    asked = request.context.query_class
    lists = (policy.tools_allow, policy.query_class(asked).tools_allow if asked else None, principal.tools)
    gated = tools_out(request.fields, request.params, lists)
    lifted = lift(request, names, policy)
    results = check_results(lifted.request, names, policy, known, besides=lifted.homes)
    messages = tuple(with_result(message, results.get(index)) for index, message in enumerate(lifted.request.messages))
    watched = lifted.request.tagged or bool(policy.tools) or any(names is not None for names in lists)
    removed = (Edit.TOOLS_REMOVED,) if gated.removed else ()
    members = {"fields": dict(gated.fields), "params": dict(gated.params)} if removed else {}
    edits = {
        Edit.TOOL_RESULT_CLEANED: any(one.cleaned for one in results.values()),
        Edit.REDACTED: any(one.redacted for one in results.values()),
        Edit.TOOL_RESULT_WITHHELD: any(one.withheld for one in results.values()),
    }
    return Ready(
        request=structs.replace(lifted.request, messages=messages, **members),
        came=structs.replace(request, **members),
        names=names,
        homes=lifted.homes,
        results=results,
        tools=gated.names if watched else None,
        tools_removed=gated.removed,
        edits=(*removed, *lifted.edits, *(edit for edit, happens in edits.items() if happens)),
        notes=lifted.notes,
    )
