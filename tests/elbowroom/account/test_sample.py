"""A sample is a stable share, and never without what a reviewer looks for."""

from __future__ import annotations

import pytest
from msgspec import structs

from elbowroom.account.sample import kept, remarkable
from elbowroom.account.trace import Cited, LinksFlagged, record
from tests.elbowroom.account.test_trace import DECISION, FACTS

GOOD = structs.replace(FACTS, status=200, cited=Cited(("S1",)), notes=())
ALL = structs.replace(DECISION, documents=DECISION.documents[:1], notes=())


def story(trace_id="t", decision=ALL, **more):
    return record(decision, structs.replace(GOOD, trace_id=trace_id, **more))


def test_a_share_is_kept_and_always_the_same():
    ids = [f"{n:032x}" for n in range(2000)]
    chosen = [one for one in ids if kept(story(one), 0.25)]
    assert 400 < len(chosen) < 600
    assert chosen == [one for one in ids if kept(story(one), 0.25)]
    assert set(chosen) <= {one for one in ids if kept(story(one), 0.5)}
    assert all(kept(story(one), 1.0) for one in ids[:5])
    assert not any(kept(story(one), 0.0) for one in ids[:5])


@pytest.mark.parametrize(
    "more",
    [
        {"status": None},
        {"status": 429},
        {"error": {"code": "x", "message": "", "param": None}},
        {"disconnected": True},
        {"notes": ("count_cache_degraded",)},
        {"calls_refused": 1},
        {"calls_tainted": 1},
        {"links_flagged": LinksFlagged(0, 1)},
        {"cited": Cited((), ("S9",))},
        {"decision": DECISION},  # one of its documents may not be seen
        {"decision": structs.replace(ALL, evidence_sufficient=False)},
        {"decision": structs.replace(ALL, tools_removed=("send_mail",))},
    ],
    ids=str,
)
def test_what_a_reviewer_looks_for_is_kept(more):
    assert kept(story(**more), 0.0)


def test_the_rest_is_not_remarkable():
    assert not remarkable(story())
    assert not remarkable(story(cited=None))
