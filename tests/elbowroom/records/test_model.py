from __future__ import annotations

import pytest

from elbowroom.records import Basis, Count


def test_a_count_does_not_change() -> None:
    count = Count(1, Basis.EXACT)
    with pytest.raises(AttributeError):
        count.tokens = 2  # type: ignore[misc]
