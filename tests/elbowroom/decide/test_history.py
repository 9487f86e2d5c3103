"""Whole turns, the newest kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.decide.history import evict


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(0, 3000))
def test_as_few_of_the_oldest_go_as_make_the_rest_fit(costs: list[int], room: int):
    gone = evict(costs, room)
    assert sum(costs[gone:]) <= room
    assert gone == 0 or sum(costs[gone - 1 :]) > room


def test_turns_of_400_tokens_in_room_for_three():
    assert evict([400] * 8, 1200) == 5
    assert evict([400] * 8, 1199) == 6


def test_a_long_newest_turn_is_not_skipped_for_an_older_short_one():
    assert evict([10, 900], 100) == 2
