"""A minute that slides, second by second."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.window import KEPT, SECONDS, Window

moments = st.lists(st.tuples(st.floats(0, 200), st.integers(0, 3), st.integers(0, 500)), max_size=30)


@given(moments, st.floats(200, 330))
def test_never_less_than_the_last_minute_is_counted_and_never_more_than_61_seconds(entries, now):
    window = Window()
    for at, requests, tokens in sorted(entries):
        window.slide(at)
        window.add(int(at), requests, tokens)
    window.slide(now)
    for sums, which in ((window.requests, 1), (window.tokens, 2)):
        assert sum(one[which] for one in entries if one[0] > now - SECONDS) <= sums
        assert sums <= sum(one[which] for one in entries if one[0] > now - KEPT)


@given(moments, st.integers(0, 2000))
def test_where_room_is_promised_there_is_room(entries, most):
    window = Window()
    for at, requests, tokens in sorted(entries):
        window.slide(at)
        window.add(int(at), requests, tokens)
    now = max((entry[0] for entry in entries), default=0.0)
    free = window.tokens_free(now, most), window.requests_free(now, most)
    window.slide(free[0])
    assert window.tokens <= most
    window.slide(max(free))
    assert window.requests <= most


def test_room_that_there_never_is_is_promised_for_the_second_in_which_nothing_is_left():
    window = Window()
    assert window.tokens_free(7.5, -1) == 7
    window.add(3, 1, 10)
    window.add(5, 1, 20)
    assert window.tokens_free(7.5, 20) == 3 + KEPT
    assert window.tokens_free(7.5, -1) == window.requests_free(7.5, 0) == 5 + KEPT


def test_what_came_to_other_than_was_thought_is_corrected_in_its_second_while_that_lasts():
    window = Window()
    window.add(3, 1, 100)
    window.correct(3, -60)
    assert (window.requests, window.tokens) == (1, 40)
    window.slide(3.0 + KEPT)
    window.correct(3, 1_000)
    assert (window.requests, window.tokens) == (0, 0)
