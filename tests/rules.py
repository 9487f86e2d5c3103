"""The shipped classes on realistic cases, each with its rule and without it.

Knows: how to pack a question under the built-in policy, with more or less room than it has.
Does not know: what a rule should do with any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import structs

from elbowroom.read.policy import Policy
from elbowroom.records import Packed
from elbowroom_proxy import settings
from tests.walk import chat, pack

Case = tuple[str, list[dict[str, Any]]]  # question, documents


@cache
def shipped() -> Policy:
    """The built-in policy."""
    return settings.load_policy(settings.config_folder() / "policy.yaml")


def with_class(name: str, policy: Policy | None = None, *, ceiling: int | None = None, **fields: Any) -> Policy:
    """The policy with these fields of one class; `ceiling` in tokens of evidence."""
    policy = policy or shipped()
    one = policy.query_class(name)
    evidence = one.evidence if ceiling is None else structs.replace(one.evidence, ceiling=ceiling)
    changed = structs.replace(one, **{"evidence": evidence, **fields})
    return structs.replace(policy, classes=tuple(changed if other is one else other for other in policy.classes))


def packed(question: str, documents: Sequence[Mapping[str, Any]], policy: Policy) -> Packed:
    """The question packed; candidates without a score are as good as their place in the list."""
    return pack(chat(("user", question), documents=list(documents)), policy)


def with_and_without(
    name: str, question: str, documents: Sequence[Mapping[str, Any]], ceiling: int | None = None
) -> tuple[list[str], list[str]]:
    """Ids admitted for a question that routing gives to that class, best first: with its rule, and without."""
    policy = with_class(name, ceiling=ceiling)
    assert policy.query_class(name).rule is not None
    found = []
    for one in (policy, with_class(name, policy, rule=None)):
        outcome = packed(question, documents, one)
        assert outcome.decision.query_class.name == name
        shown = sorted((fate for fate in outcome.decision.documents if fate.label), key=lambda fate: fate.label or "")
        found.append([fate.id for fate in shown])
    return found[0], found[1]
