"""Two decisions about the same documents: each kind of change, and none where nothing changed."""

from __future__ import annotations

import pytest

from elbowroom.account.changes import changes
from elbowroom.records import Drop, Fate

IN = Fate(0, "a", "admitted", label="S1", tokens=40)
OUT = Fate(0, "a", "dropped", reason=Drop.DUPLICATE, detail="same text as b", tokens=40)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (IN, OUT, "dropped"),
        (OUT, IN, "admitted"),
        (OUT, Fate(0, "a", "dropped", reason=Drop.OVER_BUDGET), "reason"),
        (IN, Fate(0, "a", "admitted", label="S1", tokens=20, spans=((0, 9),)), "cut"),
        (IN, Fate(0, "a", "admitted", label="S2", tokens=40), "moved"),
    ],
)
def test_each_kind(before, after, kind):
    assert [change.kind for change in changes([before], [after])] == [kind]


def test_what_did_not_change_is_not_told():
    detail = Fate(0, "a", "dropped", reason=Drop.DUPLICATE, detail="same text as c", tokens=41)
    assert changes([IN], [IN]) == changes([OUT], [detail]) == []


def test_positions_that_one_side_lacks_are_left_out_and_the_rest_is_in_order():
    first = [Fate(at, f"d{at}", "admitted", label=f"S{at}") for at in (2, 1, 0)]
    second = [Fate(at, f"d{at}", "dropped", reason=Drop.EMPTY) for at in (3, 2, 1)]
    assert [change.before.id for change in changes(first, second)] == ["d1", "d2"]
