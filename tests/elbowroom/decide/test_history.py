from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.history import evict

COSTS = st.lists(st.integers(0, 900), max_size=30)


@given(COSTS, st.integers(0, 4_000))
def test_what_stays_fits_and_all_stay_that_fit_together(costs: list[int], room: int) -> None:
    gone = evict(costs, room)
    assert sum(costs[gone:]) <= room
    assert gone == 0 or sum(costs) > room


@given(COSTS, st.integers(1, 4_000))
def test_the_newest_stays_whenever_there_is_room_for_it(costs: list[int], room: int) -> None:
    assert evict(costs, room) < len(costs) or not costs or costs[-1] > room


@given(st.lists(st.integers(1, 300), min_size=1, max_size=30), st.integers(1_200, 4_000))
def test_more_than_a_third_of_the_room_is_used(costs: list[int], room: int) -> None:
    """A block is more than two fifths of the room, and at most one turn beyond a block is lost."""
    gone = evict(costs, room)
    assert gone == 0 or sum(costs[gone:]) > 0.4 * room - 300


@given(st.lists(st.integers(50, 250), min_size=30, max_size=60), st.integers(2_000, 8_000))
def test_the_cut_moves_once_a_block_and_never_back(costs: list[int], room: int) -> None:
    cuts = [evict(costs[:turns], room) for turns in range(1, len(costs) + 1)]
    assert cuts == sorted(cuts)
    moves = sum(before != after for before, after in pairwise(cuts))
    assert moves <= sum(costs) / (0.4 * room) + 1


def test_a_room_that_changes_a_little_leaves_the_cut_where_it_is() -> None:
    costs = [300] * 40
    assert len({evict(costs, room) for room in range(8_200, 10_200, 50)}) == 1


def test_there_are_none_to_evict() -> None:
    assert evict([], 0) == 0
    assert evict([1, 0, 1], 1) == 2
    assert evict([5, 1], 0) == 2
