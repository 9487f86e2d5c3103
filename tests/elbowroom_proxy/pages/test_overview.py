"""The overview: numbers as bars, hours with their gaps, what was used of a limit."""

from __future__ import annotations

from elbowroom.account.search import Bucket, Hour, Indexed, Named, Overview, Spent, Spread
from elbowroom.budget.limits import Limits
from elbowroom_proxy.pages.overview import COLUMNS, FEWEST, HOUR, histogram, hours, lines, uses

NOW = 500_000 * HOUR


def overview(*orgs: Spent) -> Overview:
    nothing = Spread()
    return Overview(
        requests=1, left_off=0, failed=0, over_budget=0, disconnected=0, admitted=0, documents=0, orgs=orgs, reasons=(),
        classes=(), modes=(), models=(), codes=(), count_error=nothing, overhead_ms=nothing, verified=0, invented=0,
        uncited=0, with_invented=0, hours=(), indexed=Indexed(),
    )  # fmt: skip


def test_the_longest_line_fills_the_chart():
    assert [(one.name, one.n, one.width) for one in lines((Named("a", 8), Named("b", 2)))] == [
        ("a", 8, 100.0),
        ("b", 2, 25.0),
    ]
    assert lines(()) == []
    assert lines((Named("a", 0),))[0].width == 0


def test_hours_without_a_request_are_gaps():
    found = hours((Hour(NOW - 2 * HOUR, 10, 5), Hour(NOW, 4, 0)))
    assert len(found) == FEWEST
    assert [one.n for one in found][-3:] == [10, 0, 4]
    assert (found[-3].height, found[-3].failed, found[-1].height) == (100.0, 50.0, 40.0)
    assert hours(()) == []


def test_no_more_hours_than_there_is_room_for():
    found = hours(tuple(Hour(NOW - n * HOUR, 1, 0) for n in range(200)))
    assert len(found) == COLUMNS
    assert found[-1].x + found[-1].width <= 100


def test_a_histogram_says_its_open_ends():
    spread = Spread(3, buckets=(Bucket(None, -1, 1), Bucket(-1, 1, 2), Bucket(1, None, 0)))
    found = histogram(spread)
    assert [one.name for one in found] == ["below -1", "-1 to 1", "1 and more"]
    assert [one.height for one in found] == [50.0, 100.0, 0.0]
    assert histogram(Spread()) == []


def test_what_was_used_of_a_limit():
    def spent(tokens: int, micro_usd: int, limits: Limits | None) -> Spent:
        return Spent("acme", 1, tokens, 0, micro_usd, limits)

    found = uses(
        overview(
            spent(50, 7, Limits(tokens=200)),
            spent(0, 0, Limits(tokens=0, micro_usd=0)),
            spent(1, 1, Limits(tokens=0, micro_usd=4)),
            spent(1, 1, None),
        )
    )
    assert [(one.tokens, one.money) for one in found] == [(25.0, None), (0.0, 0.0), (100.0, 25.0), (None, None)]
