"""What was found is remembered by text and packs, within bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.found import Found

PACKS = ("secrets",)


def test_what_was_found_is_known_for_the_packs_it_was_searched_by():
    found = Found(100_000)
    assert found.get(PACKS, "text") is None
    found.put(PACKS, "text", ((0, 2, "a"),))
    found.put(PACKS, "text", ())
    assert found.get(PACKS, "".join(["te", "xt"])) == ((0, 2, "a"),)
    assert found.get(("pii",), "text") is None
    found.put(("pii",), "text", ())
    assert found.get(("pii",), "text") == ()
    assert len(found) == 2


def test_the_least_recently_used_goes_first_and_what_is_too_large_is_not_kept():
    found = Found(12_000)
    for letter in "abcdefgh":
        found.put(PACKS, letter * 1_000, ())
    assert found.get(PACKS, "a" * 1_000) == ()
    for letter in "ij":
        found.put(PACKS, letter * 1_000, ())
    assert found.get(PACKS, "a" * 1_000) == ()
    assert found.get(PACKS, "b" * 1_000) is None
    found.put(PACKS, "z" * 2_000, ())
    assert found.get(PACKS, "z" * 2_000) is None


@given(st.lists(st.tuples(st.sampled_from(["a", "b" * 300, "é" * 500, "c" * 900]), st.integers(0, 3))))
def test_never_larger_than_allowed(put: list[tuple[str, int]]):
    found = Found(6_000)
    for at, (text, many) in enumerate(put):
        found.put(PACKS, f"{text}{at % 5}", ((0, 1, "a"),) * many)
        assert found.bytes <= 6_000
        assert bool(found.bytes) == bool(len(found))
