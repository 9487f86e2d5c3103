"""Events come out whole and the same, wherever the network cut them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy import sse

PIECES = st.sampled_from(
    [b"data: x", b"\n", b"\r", b"\r\n", b"\n\n", b"id: 1", b": ping", "é\u2028\u0085中".encode(), b"\x0b\x0c\x1c", b"d"]
)


def split(chunks: list[bytes]) -> list[bytes]:
    splitter = sse.Splitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    events += splitter.finish()
    assert splitter.pending == 0
    return events


def by_the_book(data: bytes) -> list[list[bytes]]:
    """The lines of each event, by the plainest reading of the standard that there is."""
    blocks: list[list[bytes]] = [[]]
    for line in re.split(rb"\r\n|\r|\n", data):
        if line:
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


@given(st.lists(PIECES, max_size=20).map(b"".join), st.lists(st.integers(0, 60), max_size=6))
def test_events_do_not_depend_on_the_cuts(data: bytes, cuts: list[int]):
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    whole = split([data])
    assert split(chunks) == whole
    assert split([data[at : at + 1] for at in range(len(data))]) == whole
    assert [event.splitlines()[:-1] for event in whole] == by_the_book(data)


def test_an_event_is_given_as_soon_as_it_ends():
    splitter = sse.Splitter()
    assert splitter.feed(b"data: 1\n\n") == [b"data: 1\n\n"]
    assert splitter.feed(b"data: 2\r\n\r\ndata") == [b"data: 2\r\n\r\n"]
    assert splitter.pending == 4
    assert splitter.feed(b": 3\n") == []
    assert splitter.feed(b"\ndata: 4\n\n") == [b"data: 3\n\n", b"data: 4\n\n"]
    assert splitter.feed(b"") == []


def test_a_carriage_return_waits_for_its_line_feed():
    splitter = sse.Splitter()
    assert splitter.feed(b"data: 1\r\n\r") == []
    assert splitter.feed(b"\n") == [b"data: 1\r\n\r\n"]
    assert splitter.feed(b"data: 2\r\r") == []
    assert splitter.finish() == [b"data: 2\r\r"]


def test_an_unended_event_is_given_at_the_end():
    splitter = sse.Splitter()
    assert splitter.feed(b"data: [DONE]\n") == []
    assert splitter.finish() == [b"data: [DONE]\n\n"]
    assert splitter.finish() == []


@pytest.mark.parametrize(
    ("raw", "data", "head", "relay"),
    [
        (b"data: {}\n\n", b"{}", b"", None),
        (b"data:{}\n\n", b"{}", b"", None),
        (b"data: {}\r\n\r\n", b"{}", b"", None),
        (b"data: {\rdata: }\r\r", b"{\n}", b"", None),
        (b"event: x\n: c\ndata: {\ndata:  1}\n\n", b"{\n 1}", b"event: x\n: c\n", None),
        ("data: a\u2028b\u0085c\n\n".encode(), "a\u2028b\u0085c".encode(), b"", None),
        (b"id: 7\nretry: 3\ndata: {}\nid\n\n", b"{}", b"", b"data: {}\n\n"),
        (b": ping\n\n", None, b"", None),
        (b":\r\n\r\n", None, b"", None),
        (b": ping\nid: 7\nevent: x\n\n", None, b"", b": ping\n\n"),
        (b"event: ping\ndata: \n\n", None, b"", b""),
        (b"data:   \n\n", None, b"", b""),
        (b"data\n\n", None, b"", b""),
        (b"id: 7\n\n", None, b"", b""),
    ],
)
def test_lines_that_may_not_pass_do_not(raw: bytes, data: bytes | None, head: bytes, relay: bytes | None):
    assert sse.read(raw) == sse.Event(data, head, raw if relay is None else relay)


def test_bytes_pending_are_counted_and_cost_no_second_look():
    splitter = sse.Splitter()
    for _ in range(2_000):
        assert splitter.feed(b"x" * 500) == []
    assert splitter.pending == 1_000_000
    assert splitter.feed(b"\n\n") == [b"x" * 1_000_000 + b"\n\n"]
