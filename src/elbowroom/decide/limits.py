"""The evidence numbers of one request: the policy's, with the class's own laid over them.

Knows: which of two numbers wins.
Does not know: what the numbers do (`gates/`, `packers/`).
"""

from __future__ import annotations

from msgspec import structs

from elbowroom.decide.passage import Limits
from elbowroom.read.policy import Policy, QueryClass


def limits_for(policy: Policy, query_class: QueryClass) -> Limits:
    """The policy's evidence numbers; whatever the class sets replaces them."""
    numbers = structs.asdict(policy.evidence)
    own = {name: value for name, value in structs.asdict(query_class.evidence).items() if value is not None}
    return Limits(**{**numbers, **own}, recency=query_class.recency)
