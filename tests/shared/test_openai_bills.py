"""The rules against recorded bills: how many are met exactly, and how many within what the count says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bills import chat_rows, claimed, count, score
from elbowroom.errors import CountUnavailable


def test_the_bar(shared: Path) -> None:
    rows = [row for row in chat_rows(shared) if claimed(row)]
    assert len(rows) > 100
    result = score(rows)
    assert result.exact >= 0.92 * result.rows, result
    assert result.inside >= 0.99 * result.rows, result
    assert result.under == 0, result


def test_what_is_not_claimed_says_what_it_is(shared: Path) -> None:
    rows = [row for row in chat_rows(shared) if not claimed(row)]
    assert rows
    for row in rows:
        with pytest.raises(CountUnavailable, match=r"file|audio|web search"):
            count(row)
