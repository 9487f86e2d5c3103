"""Tables of many cases: groups, means, and what is not to be judged."""

from __future__ import annotations

from typing import Any

import pytest

from elbowroom.account.summary import Result, compared, grouped, rows
from elbowroom.account.verdict import Diagnosis


def result(case: str, **more: Any) -> Result:
    fields: dict[str, Any] = {
        "retrieved": 1.0, "recall": 1.0, "all": True, "answer": None,
        "tokens": 100, "over": False, "prompt_tokens": 120,
    }  # fmt: skip
    return Result(case=case, **{**fields, **more})


def test_every_language_dataset_and_class_is_a_group():
    some = [
        result("a", lang="zh", dataset="d", query_class="how_to"),
        result("b", lang="en", query_class="how_to"),
        result("c"),
    ]
    assert [(by, name, [one.case for one in cases]) for by, name, cases in grouped(some)] == [
        ("all", "all", ["a", "b", "c"]),
        ("lang", "en", ["b"]),
        ("lang", "zh", ["a"]),
        ("dataset", "d", ["a"]),
        ("class", "how_to", ["a", "b"]),
    ]


def test_a_row_holds_means_in_percent():
    (row,) = rows(
        [
            result("a", recall=0.5, all=False, answer=True, tokens=50, over=True, ms=3.0, lost_by=("over_budget",)),
            result("b", answer=False, diagnosis=Diagnosis.PACKING, lost_by=("over_budget", "duplicate"), ms=9.0),
            result("c", cited=0.5, supported=True, sentences=4, grounded=3, judged=True, ms=4.0),
        ]
    )
    assert (row.n, row.recall, row.all, row.answer) == pytest.approx((3, 250 / 3, 200 / 3, 50.0))
    assert (row.tokens, row.over, row.prompt_tokens, row.ms) == pytest.approx((250 / 3, 1, 120.0, 4.0))
    assert (row.cited, row.supported, row.unjudged, row.groundedness) == (50.0, 1, 2, 75.0)
    assert row.diagnoses == {"packing": 1}
    assert row.lost_by == {"over_budget": 2, "duplicate": 1}


def test_what_nothing_is_known_of_is_none_and_no_cases_are_no_rows():
    (row,) = rows([result("a")])
    assert (row.answer, row.cited, row.groundedness) == (None, None, None)
    assert rows([]) == []


def test_cases_are_compared_with_themselves_only():
    first = [result("a", recall=0.5), result("b"), result("d", answer=True)]
    second = [result("b", recall=0.25), result("a"), result("c"), result("d", answer=False)]
    found = compared(first, second, "recall")
    assert (found.n, found.mean, found.better, found.worse) == pytest.approx((3, -25 / 3, 1, 1))
    assert compared(first, second, "answer").mean == -100.0
