"""How old a document says it is."""

from __future__ import annotations

import pytest

from elbowroom.decide.dates import day
from elbowroom.records import Document


@pytest.mark.parametrize(
    ("version", "fetched_at", "expected"),
    [
        ("2026-10-01", "2026-11-02T08:00:00Z", 20261001),
        ("v3", "2026-11-02T08:00:00Z", 20261102),
        (None, "2026-11-02", 20261102),
        ("v3", "yesterday", 0),
        (None, None, 0),
    ],
)
def test_the_version_speaks_before_the_day_of_fetching(version, fetched_at, expected):
    assert day(Document(0, "a", "text", version=version, fetched_at=fetched_at)) == expected
