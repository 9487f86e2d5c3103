"""Placeholders: one value, one number; what overlaps is one."""

from __future__ import annotations

from elbowroom.clean.redact import Numbers, Place, redact
from elbowroom.records import MOST_SPANS, Redaction


def places(text: str, *values: str, rule: str = "key") -> list[Place]:
    return [Place(text.index(one), text.index(one) + len(one), rule, one) for one in values]


def test_a_value_has_its_number_everywhere():
    numbers = Numbers()
    one, told = redact("a: K1, b: K2", places("a: K1, b: K2", "K2", "K1"), numbers, "text")
    assert one == "a: [REDACTED:key#1], b: [REDACTED:key#2]"
    assert told == (Redaction("key", 1, 1, ((3, 5),)), Redaction("key", 2, 1, ((10, 12),)))
    two, told = redact("K2!", [*places("K2!", "K2"), Place(2, 3, "other", "!")], numbers, "title")
    assert two == "[REDACTED:key#2][REDACTED:other#1]"
    assert told[0] == Redaction("key", 2, 1, ((0, 2),), "title")


def test_what_overlaps_is_one_with_the_longest_value():
    text = "xxABCDEFyy"
    held = [Place(4, 8, "b", "CDEF"), Place(2, 6, "a", "ABCD-and-more"), Place(6, 8, "c", "EF")]
    assert redact(text, held, Numbers(), "text") == ("xx[REDACTED:a#1]yy", (Redaction("a", 1, 1, ((2, 8),)),))


def test_nothing_to_take_out_leaves_the_text():
    assert redact("fine", (), Numbers(), "text") == ("fine", ())


def test_many_places_are_counted_and_the_first_are_named():
    text = "K " * 80
    held = [Place(2 * at, 2 * at + 1, "key", "K") for at in range(80)]
    now, (told,) = redact(text, held, Numbers(), "text")
    assert now == "[REDACTED:key#1] " * 80
    assert (told.times, len(told.spans)) == (80, MOST_SPANS)
