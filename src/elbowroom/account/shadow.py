"""What enforcing would have changed, by class of question: requests in shadow beside what was proposed for them.

Knows: which fields of a record and of its shadow are compared, and that what cannot be judged is said to be unjudged.
Does not know: where records are kept, how they are found, or any text: a record has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from elbowroom.records import Drop

Record = Mapping[str, Any]
TOO_LONG = "refused_as_too_long"  # the service's note where an upstream would not take a prompt


class Compared(Struct, kw_only=True):
    """One class's requests in shadow. Tokens are prompt tokens, summed over those requests whose two prompts were
    counted.
    """

    name: str
    requests: int = 0
    missing: int = 0  # of these: nothing was proposed, because too many waited or it was not recorded
    refused: int = 0  # the proposal is a refusal
    counted: int = 0  # requests whose two prompts were counted
    baseline_tokens: int = 0
    proposed_tokens: int = 0
    baseline_evidence: int = 0  # tokens of all that have a proposal
    proposed_evidence: int = 0
    drops: Counter[str] = field(default_factory=Counter)  # documents that were shown and would not be, by reason
    cited: int = 0  # documents that answers cite
    kept: int = 0  # of these: the proposal shows them, or one that says all of theirs
    unjudged: int = 0  # requests with documents whose answer cites none of them
    overflowed: int = 0  # the baseline left documents off for want of room, or an upstream found it too long
    avoided: int = 0  # of these: the proposal fits


def compare(requests: Iterable[Record], proposals: Mapping[str, Record]) -> list[Compared]:
    """The classes, those with most requests first. `proposals` are the shadows' records by trace id."""
    found: dict[str, Compared] = {}
    for request in requests:
        name = request.get("query_class") or ""
        row = found.setdefault(name, Compared(name=name))
        row.requests += 1
        proposal = proposals.get(str(request["trace_id"]))
        if proposal is None:
            row.missing += 1
        else:
            _add(row, request, proposal)
    return sorted(found.values(), key=lambda row: (-row.requests, row.name))


def together(rows: Iterable[Compared]) -> Compared:
    """The sum of all classes."""
    whole = Compared(name="together")
    for row in rows:
        for name in Compared.__struct_fields__:
            if name != "name":
                setattr(whole, name, getattr(whole, name) + getattr(row, name))
    return whole


def _add(row: Compared, request: Record, proposal: Record) -> None:
    refused = proposal.get("error") is not None
    row.refused += refused
    overflowed = TOO_LONG in request["notes"] or Drop.OVER_BUDGET in request["dropped"]
    row.overflowed += overflowed
    row.avoided += overflowed and not refused
    _judge(row, request, proposal)
    if refused:
        return
    row.baseline_evidence += request.get("evidence_tokens") or 0
    row.proposed_evidence += proposal.get("evidence_tokens") or 0
    before, after = request.get("counted"), proposal.get("counted")
    if before and after:
        row.counted += 1
        row.baseline_tokens += before["tokens"]
        row.proposed_tokens += after["tokens"]
    shown = {one["position"] for one in request["documents"] if _is_shown(one)}
    row.drops.update(
        one["reason"] for one in proposal["documents"] if one["reason"] is not None and one["position"] in shown
    )


def _is_shown(document: Record) -> bool:
    """Whether the model saw it, be it in the client's own messages."""
    return bool(document["decision"] == "admitted" or document["reason"] == Drop.NOT_ADDED)


def _judge(row: Compared, request: Record, proposal: Record) -> None:
    shown = [one for one in request["documents"] if _is_shown(one)]
    if not shown:
        return
    verified = set((request.get("cited") or {}).get("verified") or ())
    cited = [one for one in shown if one["label"] in verified]
    if not cited:
        row.unjudged += 1
        return
    admitted = [one for one in proposal["documents"] if one["decision"] == "admitted"]
    positions = {one["position"] for one in admitted}
    told = {name for one in admitted for name in one.get("also_in") or ()}
    row.cited += len(cited)
    row.kept += sum(one["position"] in positions or one["id"] in told for one in cited)
