"""The request as the walk goes on with it: documents in one list, tools that are allowed, results that may be shown.

Knows: what is done to a request before anything is counted, in every mode.
Does not know: tokens, what is chosen or cut later, or the bytes that leave.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from elbowroom.clean.known import Known
from elbowroom.decide.access import Denied, Rights, keeps_egress, permit
from elbowroom.decide.results import Checked, check_results, with_result
from elbowroom.decide.toolgate import name_of, names_of, tools_out
from elbowroom.read.embedded import lift
from elbowroom.read.policy import Policy
from elbowroom.read.split import tool_names
from elbowroom.records import Edit, Redaction, Request


class Ready(Struct, frozen=True):
    request: Request  # as it goes on, with no document that may not be seen; its `body` is still the client's
    came: Request  # the client's messages, and the members that leave
    names: Mapping[int, str] = {}  # the tools' names by message
    homes: Mapping[int, int] = {}  # message -> how many of its parts stand behind the place of its documents
    results: Mapping[int, Checked] = {}
    tools: frozenset[str] | None = None  # the only names that an answer may call; None: nobody looks
    tools_removed: tuple[str, ...] = ()
    tools_removed_by: Mapping[str, tuple[str, ...]] = {}  # whose lists lack them
    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    denied: tuple[Denied, ...] = ()
    labels: frozenset[str] = frozenset()  # of the documents that may be seen
    dated: bool = False  # what may be seen depended on the time
    redactions: tuple[Redaction, ...] = ()  # in messages

    @property
    def labels_heard(self) -> frozenset[str] | None:
        """Those of all that messages brought, too, whether or not it may still be seen: what was said since may tell of
        it. None: who may see some of that cannot be said.
        """
        denied = [one.label for one in self.denied if one.document.message is not None]
        known = [label for label in denied if label is not None]
        return self.labels.union(known) if len(known) == len(denied) else None

    @property
    def results_changed(self) -> bool:
        return any(checked.changed for checked in self.results.values())


def ready(request: Request, policy: Policy, rights: Rights, known: Known) -> Ready:
    """Raises `InvalidDocument` and `InvalidRequest`: for a document part, and for a tool that is demanded and removed.

    Of the classes only one that the client names has a say about tools, and of the documents only their labels.
    """
    names = tool_names(request)
    lifted = lift(request, names, policy)
    answers = [index for index, message in enumerate(request.messages) if message.role in ("tool", "function")]
    said = {index: policy.tools.get(names.get(index, "")) for index in answers}
    told = {index: tool.access if tool is not None else None for index, tool in said.items()}
    permitted = permit(lifted.request.documents, rights, told)
    asked = request.context.query_class
    lists = {
        "policy": policy.tools_allow,
        "class": policy.query_class(asked).tools_allow if asked else None,
        "key": rights.principal.tools,
        "label": None if keeps_egress(permitted.labels, policy.access) else _staying(request, policy),
    }
    gated = tools_out(request.fields, request.params, lists.values())
    results = check_results(lifted.request, names, policy, known, besides=lifted.homes)
    messages = tuple(with_result(message, results.get(index)) for index, message in enumerate(lifted.request.messages))
    watched = lifted.request.tagged or bool(policy.tools) or any(names is not None for names in lists.values())
    removed = (Edit.TOOLS_REMOVED,) if gated.removed else ()
    members = {"fields": dict(gated.fields), "params": dict(gated.params)} if removed else {}
    edits = {
        Edit.TOOL_RESULT_CLEANED: any(one.cleaned for one in results.values()),
        Edit.REDACTED: any(one.redacted for one in results.values()),
        Edit.TOOL_RESULT_WITHHELD: any(one.withheld for one in results.values()),
    }
    return Ready(
        request=structs.replace(lifted.request, messages=messages, documents=permitted.documents, **members),
        came=structs.replace(request, **members),
        names=names,
        homes=lifted.homes,
        results=results,
        tools=gated.names if watched else None,
        tools_removed=gated.removed,
        tools_removed_by={
            name: tuple(by for by, names in lists.items() if names is not None and name not in names)
            for name in gated.removed
        },
        edits=(*removed, *lifted.edits, *(edit for edit, happens in edits.items() if happens)),
        notes=lifted.notes + permitted.notes,
        denied=permitted.denied,
        labels=permitted.labels,
        dated=permitted.dated,
    )


def _staying(request: Request, policy: Policy) -> frozenset[str]:
    """The names of the request's tools that carry nothing outside."""
    egress = {name for name, tool in policy.tools.items() if tool.egress}
    every, leaving = set[str](), set[str]()
    for member in ("tools", "functions"):
        for tool in request.params.get(member) or ():
            (every if egress.isdisjoint(names_of(tool, member)) else leaving).add(name_of(tool, member))
    return frozenset(every - leaving)
