from __future__ import annotations

from elbowroom.decide.limits import limits_for
from elbowroom.read.policy import Evidence, EvidenceOverride, Policy, QueryClass


def test_a_class_without_numbers_has_the_policy_s() -> None:
    limits = limits_for(Policy(evidence=Evidence(ceiling=77, per_source=3)), QueryClass("general"))
    assert (limits.ceiling, limits.per_source, limits.max_passages) == (77, 3, 10)
    assert not limits.recency


def test_a_class_s_own_number_wins_zero_included() -> None:
    query_class = QueryClass("c", evidence=EvidenceOverride(ceiling=0, max_passages=1), recency=True)
    limits = limits_for(Policy(evidence=Evidence(ceiling=77)), query_class)
    assert (limits.ceiling, limits.max_passages, limits.per_source) == (0, 1, 2)
    assert limits.recency
