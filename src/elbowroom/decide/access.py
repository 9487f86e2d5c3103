"""Who may see which document: decided first, in every mode, by labels alone.

Knows: what a label must carry, what a principal's tenant, groups and clearance permit, and what the labels of permitted
documents forbid (models, rerankers, tools that carry things outside).
Does not know: any text. Whatever is missing, unknown or unreadable denies. Without keys (open mode) nothing is held
against a label here; the gate `expired` still holds its date.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Any
from unicodedata import normalize

from msgspec import Struct, structs

from elbowroom.decide.dates import seconds
from elbowroom.decide.signature import LabelKey, fault
from elbowroom.errors import LabelNotAccepted, RerankUnavailable
from elbowroom.read.policy import ASSUME, Access, Rerank, ToolAccess
from elbowroom.records import Document, Principal

_REQUIRED = frozenset({"tenant", "label", "deny_groups", "visibility", "expires_at"})
_KNOWN = _REQUIRED | {"groups", "users", "sig", "iat", "kid"}


class Rights(Struct, frozen=True):
    """What labels are held against."""

    principal: Principal
    access: Access
    keys: Mapping[str, LabelKey] = {}  # by `kid`
    now: float | None = None  # seconds since 1970, UTC; None: nothing with a date is permitted

    @property
    def open(self) -> bool:
        """Whether there are no keys at all, so that everybody may see everything."""
        return not self.principal.keyed and self.principal.tenant is None


class Denied(Struct, frozen=True):
    document: Document
    why: str
    incomplete: bool = False  # it has no label that could be read
    label: str | None = None  # the one that counts; None: there is none that could be read and believed


class Permitted(Struct, frozen=True):
    """The documents that go on, each with the label that counts, and those that do not."""

    documents: tuple[Document, ...]
    denied: tuple[Denied, ...] = ()
    labels: frozenset[str] = frozenset()  # of the permitted
    dated: bool = False  # it made a difference what time it was
    notes: tuple[str, ...] = ()


class _Label(Struct, frozen=True):
    label: str
    tenant: str | None
    listed: bool
    groups: frozenset[str]
    users: frozenset[str]
    deny_groups: frozenset[str]
    expires_at: float = inf
    assumed: bool = False


def permit(documents: Sequence[Document], rights: Rights, tools: Mapping[int, ToolAccess | None]) -> Permitted:
    """`tools`: the messages that are results of tools, and what the policy says of each."""
    if rights.open:
        return Permitted(tuple(documents))
    kept: list[Document] = []
    denied: list[Denied] = []
    assumed: list[str] = []
    for document in documents:
        found = _decide(document, rights, tools)
        if isinstance(found, Denied):
            denied.append(found)
        elif found is None:
            kept.append(document)
        else:
            kept.append(structs.replace(document, access={**(document.access or {}), "label": found.label}))
            assumed += [found.label] if found.assumed else []
    return Permitted(
        tuple(kept),
        tuple(denied),
        frozenset(one.access["label"] for one in kept if one.access is not None),
        dated=any(_dated(one) for one in documents),
        notes=tuple(
            f"documents without a label: {assumed.count(label)} taken for {label}" for label in sorted(set(assumed))
        ),
    )


def _decide(document: Document, rights: Rights, tools: Mapping[int, ToolAccess | None]) -> _Label | Denied | None:
    """The label that counts, None where there is none to count, or why the document is denied.

    What a tool returned cannot speak for itself: the policy says who may see it, and its own label, unless it is
    signed, can only narrow that.
    """
    ranks = {label: rank for rank, label in enumerate(rights.access.labels)}
    found: list[_Label] = []
    if document.access is not None:
        own = read_label(document.access)
        if own is None or own.label not in ranks:
            return Denied(document, "its label is incomplete or cannot be read", incomplete=True)
        found.append(own)
    unsigned = fault(document, rights.keys, rights.access.sig_max_age, rights.now)
    if unsigned or (unsigned == "" and rights.access.require_sig):
        return Denied(document, f"its label's signature does not hold: {unsigned or 'there is none'}")
    returned = document.message is not None and document.message in tools
    tool = tools[document.message] if returned and document.message is not None else None
    if tool is not None:
        found.append(_of_tool(tool, rights.principal))
    elif not found or (returned and unsigned is not None):
        assumed = _assumed(document, rights)
        if assumed is not None:
            found.append(assumed)
        elif found:
            return Denied(document, "the policy does not say who may see what its tool returns")
        elif rights.principal.tenant is not None or _rule(document, rights) is not None:
            return Denied(document, "it has no label", incomplete=True)
    for label in found:
        why = _why_not(label, rights, ranks)
        if why:
            told = max(found, key=lambda one: ranks.get(one.label, inf)).label
            return Denied(document, why, document.access is None and tool is None, told if told in ranks else None)
    return max(found, key=lambda one: ranks[one.label], default=None)


def _rule(document: Document, rights: Rights) -> str | None:
    """What becomes of a document without a label: the key's word, else the policy's; None: nobody said."""
    rules = (rights.principal.on_missing_label, rights.access.on_missing_label)
    return next((said for one in rules if (said := one.get(document.kind or "", one.get("default")))), None)


def _assumed(document: Document, rights: Rights) -> _Label | None:
    rule = _rule(document, rights) or ""
    if not rule.startswith(ASSUME):
        return None
    nobody = frozenset[str]()
    return _Label(rule.removeprefix(ASSUME), rights.principal.tenant, False, nobody, nobody, nobody, assumed=True)


def _why_not(label: _Label, rights: Rights, ranks: Mapping[str, int]) -> str:
    principal, now = rights.principal, rights.now
    if label.tenant != principal.tenant:
        return "it is another tenant's"
    if label.expires_at < inf and (now is None or label.expires_at <= now):
        return "it has expired"
    if not _composed(label.deny_groups).isdisjoint(_composed(principal.groups)):
        return "a group of the principal is denied it"
    if label.listed and principal.subject not in label.users and label.groups.isdisjoint(principal.groups):
        return "the principal is not on its list"
    return "its label is above the clearance" if _above(label.label, principal, ranks) else ""


def _composed(names: Collection[str]) -> set[str]:
    """The names in one way of writing: an ü that a directory writes as two characters is no other group's."""
    return {name if name.isascii() else normalize("NFC", name) for name in names}


def _above(label: str, principal: Principal, ranks: Mapping[str, int]) -> bool:
    """Whether it is above the clearance, or one of the two is unknown."""
    return label not in ranks or ranks[label] > ranks.get(principal.clearance or "", -1)


def _of_tool(tool: ToolAccess, principal: Principal) -> _Label:
    return _Label(
        tool.label,
        principal.tenant if tool.tenant is None else tool.tenant,
        tool.visibility == "listed",
        frozenset(tool.groups),
        frozenset(tool.users),
        frozenset(tool.deny_groups),
    )


def read_label(access: Mapping[str, Any]) -> _Label | None:
    """The label, or None where anything of it is missing, unknown or cannot be read."""
    if not _REQUIRED <= access.keys() <= _KNOWN or not _signable(access):
        return None
    tenant, label, visibility = (access[name] for name in ("tenant", "label", "visibility"))
    groups, users, deny_groups = (_names(access.get(name, [])) for name in ("groups", "users", "deny_groups"))
    expires = access["expires_at"]
    at = inf if expires is None else seconds(expires)
    words = isinstance(tenant, str) and tenant and isinstance(label, str) and visibility in ("tenant", "listed")
    if not words or groups is None or users is None or deny_groups is None or at is None:
        return None
    return _Label(label, tenant, visibility == "listed", groups, users, deny_groups, at)


def _signable(access: Mapping[str, Any]) -> bool:
    """Whether it has a canonical form, and is signed whole or not at all."""
    sig, kid, iat = signature = [access.get(name) for name in ("sig", "kid", "iat")]
    whole = isinstance(sig, str) and isinstance(kid, str) and isinstance(iat, int) and not isinstance(iat, bool)
    return (whole or signature == [None] * 3) and not any(isinstance(one, float) for one in access.values())


def _names(value: Any) -> frozenset[str] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return frozenset(value)


def _dated(document: Document) -> bool:
    access = document.access or {}
    return access.get("expires_at") is not None or access.get("sig") is not None


# --- what labels forbid ---------------------------------------------------------------------------------------------


def accepted(labels: Collection[str], accepts: Collection[str] | None, access: Access) -> bool:
    """Whether who accepts these labels (None: all that may leave the house) may be shown documents under `labels`."""
    return all(label not in access.inside if accepts is None else label in accepts for label in labels)


def check_model(labels: Collection[str], accepts: Collection[str] | None, access: Access) -> None:
    """Raises `LabelNotAccepted`. To be asked of every model that a request could reach."""
    if not accepted(labels, accepts, access):
        raise LabelNotAccepted("A document's label keeps it from this model.", param="model")


def rerank_within(labels: Collection[str], rerank: Rerank, accepts: Collection[str] | None, access: Access) -> Rerank:
    """The same, or the caller's order where the reranker may not see such documents. Raises `RerankUnavailable`."""
    if rerank.by == Rerank().by or accepted(labels, accepts, access):
        return rerank
    if rerank.on_failure == "refuse":
        raise RerankUnavailable("A document's label keeps it from the reranker.", param="documents")
    return Rerank()


def keeps_egress(labels: Collection[str], access: Access) -> bool:
    """Whether tools that carry things outside may be offered beside documents under `labels`."""
    ranks = {label: rank for rank, label in enumerate(access.labels)}
    most = ranks[access.egress_up_to or access.labels[0]]
    return all(ranks[label] <= most for label in labels)
