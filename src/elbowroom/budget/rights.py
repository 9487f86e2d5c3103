"""What a level of an organisation may do, and what becomes of it one level below.

Knows: the words, that a level inherits what it leaves out, and that it may narrow what it inherits and never widen it.
Does not know: files, keys, requests, or what a right permits (`decide.access`).

Tenant and groups say who somebody is, so a level below cannot say otherwise: fewer groups would leave a `deny_groups`,
more would enter a list. Classes, models and tools can only become fewer, a clearance lower, the rule for documents
without a label stricter. Policy, mode and output cap are choices and no rights: the nearest level's holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import ASSUME, Config, OnMissing, Policy, PositiveTokens
from elbowroom.records import Mode

Names = tuple[str, ...]
Fault = Callable[[str, str], InvalidConfig]  # (path, what) -> the error with file and line


class Rights(Config, frozen=True, kw_only=True):
    """None: left out, so what the level above says holds; where none says anything, it is not limited."""

    tenant: Annotated[str, Meta(min_length=1)] | None = None
    groups: Names | None = None
    clearance: str | None = None  # the highest access label
    classes: Names | None = None
    models: Names | None = None
    tools: Names | None = None
    on_missing_label: OnMissing | None = None
    policy: str | None = None  # a name; None everywhere: the default one
    mode: Mode | None = None  # None everywhere: the policy's
    output_cap: PositiveTokens | None = None  # None everywhere: the policy's


class Written(Struct, frozen=True):
    """What there is, so that nothing else is named."""

    policy: Policy  # the default one
    policies: Mapping[str, Policy]  # by name
    models: Collection[str]

    def labels(self, policy: str | None) -> tuple[str, ...]:
        """The access labels of the policy of that name, the lowest first."""
        return (self.policy if policy is None else self.policies[policy]).access.labels


class Widened(Exception):
    """A level wants what the level above does not have."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(what)
        self.field = field
        self.what = what


def both(above: Rights, own: Rights, labels: Sequence[str]) -> Rights:
    """What both agree to; `labels` from the lowest to the highest. Raises `Widened` for another tenant or groups."""
    if None not in (above.tenant, own.tenant) and above.tenant != own.tenant:
        raise Widened("tenant", f"the level above belongs to the tenant {above.tenant}")
    if above.groups is not None and own.groups is not None and set(above.groups) != set(own.groups):
        raise Widened("groups", "the level above says its groups, and they are inherited whole")
    return Rights(
        tenant=own.tenant if above.tenant is None else above.tenant,
        groups=own.groups if above.groups is None else above.groups,
        clearance=_lower(above.clearance, own.clearance, labels),
        classes=_common(above.classes, own.classes),
        models=_common(above.models, own.models),
        tools=_common(above.tools, own.tools),
        on_missing_label=_stricter(above.on_missing_label, own.on_missing_label, labels),
        policy=own.policy or above.policy,
        mode=own.mode or above.mode,
        output_cap=own.output_cap or above.output_cap,
    )


def within(above: Rights, own: Rights, labels: Sequence[str]) -> Rights:
    """The same for what an operator wrote: raises `Widened` wherever it would not hold as it stands there."""
    found = both(above, own, labels)
    if own.clearance not in (None, found.clearance):
        raise Widened("clearance", f"the level above sees no more than {found.clearance}")
    for field in ("classes", "models", "tools"):
        wanted, given = getattr(own, field), getattr(found, field)
        if wanted is not None and wanted != given:
            more = ", ".join(one for one in wanted if one not in given)
            raise Widened(field, f"the level above does not have {more}")
    for kind in (found.on_missing_label or {}) if own.on_missing_label else ():
        rule, held = _rule(own.on_missing_label, kind), _rule(found.on_missing_label, kind)
        if rule not in (None, held):
            raise Widened("on_missing_label", f"the level above says {held} for {kind}")
    return found


def resolved(at: str, above: Rights, own: Rights, written: Written, fault: Fault) -> Rights:
    """`own`, written at `at`, with what it inherits. Raises what `fault` makes of a mistake."""
    name = own.policy or above.policy
    if name is not None and name not in written.policies:
        known = ", ".join(sorted(written.policies)) or "none"
        raise fault(f"{at}.policy", f"there is no policy {name}; there are {known}")
    policy = written.policy if name is None else written.policies[name]
    check(at, own, policy, written.models, fault)
    try:
        return within(above, own, policy.access.labels)
    except Widened as error:
        raise fault(f"{at}.{error.field}", error.what) from None


def check(at: str, own: Rights, policy: Policy, models: Collection[str], fault: Fault) -> None:
    """Raises where a label, a class or a model of that name is not there."""
    check_labels(f"{at}.clearance", () if own.clearance is None else (own.clearance,), policy, fault)
    for kind, rule in (own.on_missing_label or {}).items():
        if rule.startswith(ASSUME):
            check_labels(f"{at}.on_missing_label.{kind}", (rule.removeprefix(ASSUME),), policy, fault)
    for name in own.classes or ():
        if not policy.has_class(name):
            raise fault(f"{at}.classes", f"the policy has no class {name}")
    for name in own.models or ():
        if name not in models:
            raise fault(f"{at}.models", f"there is no model {name}")


def check_labels(path: str, labels: Names | None, policy: Policy, fault: Fault) -> None:
    """Raises where one of them is none of the policy's."""
    for label in labels or ():
        if label not in policy.access.labels:
            raise fault(path, f"the policy has no label {label}; it has {', '.join(policy.access.labels)}")


def _common(above: Names | None, own: Names | None) -> Names | None:
    if above is None or own is None:
        return own if above is None else above
    return tuple(one for one in own if one in above)


def _lower(above: str | None, own: str | None, labels: Sequence[str]) -> str | None:
    if above is None or own is None:
        return own if above is None else above
    return min(own, above, key=lambda label: _rank(label, labels))


def _stricter(above: OnMissing | None, own: OnMissing | None, labels: Sequence[str]) -> OnMissing | None:
    if above is None or own is None:
        return own if above is None else above
    found: OnMissing = {}
    for kind in (*above, *own):
        rules = [rule for rule in (_rule(above, kind), _rule(own, kind)) if rule is not None]
        # A document that is taken for a higher label is seen by fewer, and `deny` is for nobody.
        found[kind] = max(rules, key=lambda rule: _rank(rule.removeprefix(ASSUME), (*labels, "deny")))
    return found


def _rule(rules: OnMissing | None, kind: str) -> str | None:
    return (rules or {}).get(kind, (rules or {}).get("default"))


def _rank(label: str, labels: Sequence[str]) -> int:
    """An unknown one is below all."""
    return labels.index(label) if label in labels else -1
