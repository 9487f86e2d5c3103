"""What goes in comes out, whatever a client sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.sinks.line import decode, encode, plain

TEXT = st.text(st.characters(exclude_categories=[]))


@given(st.dictionaries(TEXT, TEXT | st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.lists(TEXT)))
def test_a_record_survives_as_one_line(record):
    line = encode(record)
    assert b"\n" not in line
    assert decode(line) == record


def test_half_a_surrogate_pair_is_kept_as_its_escape():
    assert encode({"id": "a\ud800"}) == b'{"id":"a\\ud800"}'
    assert encode({"name": "热泵"}) == '{"name":"热泵"}'.encode()


@pytest.mark.parametrize("line", [b"", b"[]", b"null", b'{"trace_id": "ha', b"\xff", b"[" * 100_000])
def test_what_is_no_record_is_none(line):
    assert decode(line) is None


def test_an_old_record_is_read_as_if_it_were_new():
    assert plain(b'{"version":1}') == {"version": 1}
    assert (decode(b'{"version":1}') or {})["version"] == 2
    assert plain(b"[]") is None
