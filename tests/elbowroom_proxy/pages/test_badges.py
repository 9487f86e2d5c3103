"""What stands out in a record, and that a quiet one is quiet."""

from __future__ import annotations

from typing import Any

from elbowroom_proxy.pages.badges import badges
from elbowroom_proxy.pages.trace import Loose


def told(**record: Any) -> list[tuple[str, str]]:
    return list(badges(Loose(record)))


def test_a_record_that_says_nothing_has_none():
    assert told() == []


def test_what_went_well():
    quiet = {"status": 200, "mode": "enforce", "cited": {"verified": ["S1"], "invented": []}, "count_error": 0}
    assert told(**quiet, links_flagged={"images": 0, "links": 0}, evidence_sufficient=True) == [
        ("good", "status 200"),
        ("note", "enforce"),
    ]


def test_what_did_not():
    assert told(
        status=503,
        mode="shadow",
        cohort={"inside": False, "percent": 12.5, "by": "key", "at": 80.0},
        killed=True,
        disconnected=True,
        evidence_sufficient=False,
        label_incomplete=2,
        cited={"verified": [], "invented": ["S9"]},
        calls_refused=1,
        calls_tainted=3,
        links_flagged={"images": 1, "links": 1},
        degradations=["ledger_open"],
        count_error=-4,
    ) == [
        ("bad", "status 503"),
        ("note", "shadow"),
        ("note", "outside the 12.5 % cohort"),
        ("warn", "kill switch pulled"),
        ("warn", "client left"),
        ("warn", "evidence insufficient"),
        ("warn", "2 unreadable access labels"),
        ("bad", "cites what nobody gave out"),
        ("bad", "1 tool call refused"),
        ("warn", "3 tool calls that only documents explain"),
        ("warn", "2 links to strangers"),
        ("warn", "ledger open"),
        ("warn", "billed 4 less than counted"),
    ]
    assert ("note", "inside the 5 % cohort") in told(cohort={"inside": True, "percent": 5.0})
