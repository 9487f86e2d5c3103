"""Neighbouring chunks become one passage, nothing said twice, nothing longer than it may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.count.counter import Tally
from elbowroom.decide.merge import SEAM, merge
from elbowroom.decide.passage import Passage
from elbowroom.needs import NeedCounts
from tests.passages import VOCABULARY, drive, passage, tokens

CHUNKS = ("First the valve is closed.", "Then the pump is emptied.", "Last the lid is lifted.", "那么盖子打开。")


def chunk(at: int, text: str = "", **known) -> Passage:
    known = {"position": at, "source_id": "kb", "chunk_index": at, "title": "Pump", **known}
    return passage(text or CHUNKS[at % 4], **known)


def merged(*some: Passage, most: int = 10**6, asked: list[NeedCounts] | None = None) -> tuple[Passage, ...]:
    return drive(merge(some, most, Tally(VOCABULARY)), asked)


def ids(passages: tuple[Passage, ...]) -> list[list[str]]:
    return [[part.document.id for part in one.parts] or [one.document.id] for one in passages]


def test_neighbours_become_one_with_the_best_rank_of_them():
    other = passage("Something else.", position=9, rank=1)
    found = merged(chunk(2, rank=0, relevance=0.9), other, chunk(1, rank=2, relevance=0.5, authority=0.4))
    assert ids(found) == [["d1", "d2"], ["d9"]]
    one = found[0]
    assert one.text.clean == "Then the pump is emptied.\nLast the lid is lifted."
    assert (one.rank, one.relevance, one.authority) == (0, 0.9, 0.4)
    assert one.body_tokens == tokens(one.text.clean + "\n")
    assert [one.text.clean[part.start :][: len(part.text.clean)] for part in one.parts] == list(CHUNKS[1:3])


@pytest.mark.parametrize(
    "other",
    [
        {"chunk_index": 3},
        {"source_id": "other"},
        {"source_id": None},
        {"chunk_index": None},
        {"title": "Lid"},
        {"version": "2"},
        {"chunk_index": 1},
    ],
)
def test_what_does_not_follow_stays_alone_and_nothing_is_asked(other):
    asked: list[NeedCounts] = []
    assert len(merged(chunk(1), chunk(2, **other), asked=asked)) == 2
    assert asked == []


def test_two_that_say_they_are_the_same_chunk_follow_nobody():
    assert ids(merged(chunk(0), chunk(1), chunk(2, "A."), chunk(3, "B.", chunk_index=2), chunk(4, chunk_index=3))) == [
        ["d0", "d1"], ["d2"], ["d3"], ["d4"],
    ]  # fmt: skip


def test_a_run_is_cut_where_it_would_become_too_long():
    whole = merged(*map(chunk, range(4)))[0]
    assert ids(merged(*map(chunk, range(4)), most=whole.tokens - 1)) == [["d0", "d1", "d2"], ["d3"]]
    two = merged(chunk(0), chunk(1))[0]
    assert ids(merged(*map(chunk, range(3)), most=two.tokens)) == [["d0", "d1"], ["d2"]]
    assert ids(merged(chunk(0), chunk(1), most=two.tokens - 1)) == [["d0"], ["d1"]]
    long = chunk(1, "x " * 99)
    assert ids(merged(chunk(0), long, chunk(2), chunk(3), most=60)) == [["d0"], ["d1"], ["d2", "d3"]]


def test_what_both_hold_at_the_seam_is_said_once():
    first, second = "The valve is closed by hand, then the pump is", "then the pump is emptied."
    found = merged(chunk(0, first), chunk(1, second))[0]
    assert found.text.clean == "The valve is closed by hand, then the pump is emptied."
    assert [part.start for part in found.parts] == [0, 29]
    short = second[-SEAM + 1 :]
    assert "\n" in merged(chunk(0, "x" + short), chunk(1, short))[0].text.clean


def test_a_seam_that_only_begins_alike_is_no_seam():
    first, second = "then the pump is emptied and then the pump is dry.", "then the pump is emptied."
    assert merged(chunk(0, first), chunk(1, second))[0].text.clean == f"{first}\n{second}"


def test_chunks_that_only_together_are_a_control_string_stay_apart():
    first, second = "<|start_header_" + "b" * SEAM, "b" * SEAM + "|>"
    assert ids(merged(chunk(0, first), chunk(1, second))) == [["d0"], ["d1"]]
    assert all("<|im_start|>" not in one.text.clean for one in merged(chunk(0, "<|im_sta"), chunk(1, "rt|>")))


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["kb", "wiki"])), max_size=7), st.integers(10, 80))
def test_every_chunk_is_in_one_passage_and_none_is_too_long(places, most):
    some = [chunk(at, chunk_index=index, source_id=source) for at, (index, source) in enumerate(places)]
    found = merged(*some, most=most)
    assert sorted(name for names in ids(found) for name in names) == sorted(one.document.id for one in some)
    for one in found:
        if one.parts:
            indexes = [part.document.chunk_index or 0 for part in one.parts]
            assert indexes == list(range(indexes[0], indexes[0] + len(indexes)))
            assert one.tokens <= most
