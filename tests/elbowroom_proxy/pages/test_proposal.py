"""What a policy in shadow would have sent, beside what was."""

from __future__ import annotations

from typing import Any

from elbowroom.records import Drop, Fate
from elbowroom_proxy.pages.proposal import proposal


def told(*documents: Fate, **more: Any) -> dict[str, Any]:
    return {"documents": [{name: getattr(one, name) for name in Fate.__struct_fields__} for one in documents], **more}


SENT = told(
    Fate(0, "a", "admitted", label="S1", tokens=40),
    Fate(1, "b", "admitted", label="S2", tokens=40),
    counted={"tokens": 120},
)


def test_what_would_fare_otherwise():
    proposed = told(
        Fate(0, "a", "admitted", label="S1", tokens=40),
        Fate(1, "b", "dropped", reason=Drop.DUPLICATE, tokens=40),
        counted={"tokens": 80},
        notes=["not asked in shadow: rerank"],
    )
    found = proposal(SENT, proposed)
    assert found is not None
    assert [(one.kind, one.before.id) for one in found.changes] == [("dropped", "b")]
    assert (found.same, found.tokens, found.refused) == (1, (120, 80), "")
    assert found.notes == ("not asked in shadow: rerank",)


def test_what_would_have_been_refused_and_what_was_not_counted():
    found = proposal(SENT, told(error={"code": "insufficient_evidence", "message": "Too little."}, counted=None))
    assert found is not None
    assert (found.refused, found.tokens, found.changes) == ("Too little.", None, [])


def test_where_nothing_was_proposed():
    assert proposal(SENT, None) is None
