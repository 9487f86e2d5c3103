from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from elbowroom_proxy.sealed import Sealer

SEALER = Sealer(b"secret")


@given(st.text(), st.text(max_size=20).filter(lambda name: name.isprintable()))
def test_what_was_sealed_opens_under_its_name_and_its_key_only(text, name):
    sealed = SEALER.seal(name, text)
    assert sealed.isascii()
    assert SEALER.open(name, sealed) == text
    assert SEALER.open(name + "x", sealed) is None
    assert Sealer(b"another").open(name, sealed) is None


def test_the_text_is_not_to_be_seen_and_no_two_seals_are_alike():
    one, two = (SEALER.seal("name", "harbours " * 9) for _ in range(2))
    assert one != two
    assert b"harbours" not in base64.b64decode(one)


def test_whoever_changes_a_bit_opens_nothing():
    raw = bytearray(base64.b64decode(SEALER.seal("name", "text")))
    for at in range(len(raw)):
        raw[at] ^= 1
        assert SEALER.open("name", base64.b64encode(bytes(raw)).decode()) is None
        raw[at] ^= 1


def test_the_same_bytes_in_other_characters_are_no_seal():
    """Else what was ended by its characters could be used on in others."""
    sealed = SEALER.seal("name", "12")
    other = f"{sealed[:-3]}{chr(ord(sealed[-3]) + 1)}=="
    assert base64.b64decode(other, validate=True) == base64.b64decode(sealed)
    assert SEALER.open("name", other) is None


def test_what_is_no_seal_opens_to_nothing():
    for other in ("", "?", "aGFsbG8=", base64.b64encode(b"x" * 40).decode()):
        assert SEALER.open("name", other) is None
