"""Lines in a chain, signed heads, and what is sealed beside: found again, and no forgery is taken for one."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.chain import Chain, Head, follow, heads_in, parse, sealed, signed, start, unsealed

KEY, OTHER = b"k" * 32, b"o" * 32
WRITER = "0123456789ab"
RECORDS = st.dictionaries(st.text(), st.text() | st.integers(-9, 9), min_size=1)


@given(st.lists(RECORDS, min_size=1))
def test_a_line_is_the_record_and_its_place(records):
    chain, at = Chain(KEY, WRITER), start(KEY, WRITER)
    for number, record in enumerate(records, start=1):
        body = msgspec.json.encode(record)
        line = chain.link(body)
        found = parse(line)
        assert found is not None
        assert (found.body, found.head.n) == (body, number)
        at = follow(KEY, at, body)
        assert found.head == at == chain.head
        assert json.loads(line) == {**record, "chain": f"{WRITER}:{number}:{at.mac}"}


def test_a_record_that_speaks_of_chains_is_taken_apart_at_its_end():
    body = b'{"a":",\\"chain\\":\\"x\\"}","chain":"mine"}'
    line = Chain(KEY, WRITER).link(body)
    found = parse(line)
    assert found is not None
    assert found.body == body


def test_another_key_writer_or_place_is_another_line():
    body = b'{"a":1}'
    macs = {
        Chain(KEY, WRITER).link(body),
        Chain(OTHER, WRITER).link(body),
        Chain(KEY, "ba9876543210").link(body),
    }
    again = Chain(KEY, WRITER)
    again.link(body)
    assert len(macs | {again.link(body)}) == 4


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b'{"a":1}', b'{"a":1,"chain":"0123456789ab:1:abc"}', b'{"a":1,"chain":"x"} ', b'{"a":1,"chain":"'],
)
def test_what_has_no_place_is_no_line(line):
    assert parse(line) is None


def test_signed_heads_are_found_in_any_text_and_others_are_not():
    head = Head(WRITER, 7, "a" * 64)
    told = signed(KEY, head)
    log = (
        f'{{"event":"trace_head","head":"{told}"}}\n{signed(OTHER, head)}\n{told[:-1]}{"0" if told[-1] != "0" else "1"}'
    )
    assert heads_in(KEY, log) == [head]
    assert heads_in(KEY, "nothing") == []


def test_what_is_sealed_opens_with_its_key_only():
    data = sealed(KEY, {"file": "a", "n": 1})
    assert unsealed(KEY, data) == {"file": "a", "n": 1}
    assert unsealed(OTHER, data) is None
    assert unsealed(KEY, data.replace(b'"a"', b'"b"')) is None
    for other in (b"", b"{}", data + b" ", data[:-3]):
        assert unsealed(KEY, other) is None
