from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.killword import LONGEST_REASON, Word, read, written


@given(st.booleans(), st.text(st.characters(exclude_categories=["Cs"]), max_size=LONGEST_REASON))
def test_what_is_written_is_read(on: bool, reason: str):
    assert read(written(Word(on, reason))) == Word(on, reason)


@pytest.mark.parametrize("said", [b"off", b" OFF\n", b"false", b"0", b"no"])
def test_a_plain_no(said: bytes):
    assert read(said) == Word(on=False)


@pytest.mark.parametrize(
    "said", [b"", b"on", b"1", b"{}", b'{"on": "yes"}', b"off?", b"\xff", b"{", b"x" * 999, b'{"on":' + b"[" * 99_999]
)
def test_everything_else_kills(said: bytes):
    assert read(said).on
    assert len(read(said).reason) <= LONGEST_REASON


@given(st.binary(max_size=64))
def test_any_bytes_are_a_word(said: bytes):
    assert isinstance(read(said), Word)
