from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.known import Known
from elbowroom.clean.neutralise import compile_rules, rules_of
from elbowroom.clean.text import Text


def test_a_known_text_is_the_same_record() -> None:
    known = Known(1_000_000)
    first = known.text("One. Two.")
    assert first.clean == "One. Two."
    assert known.text("".join(["One. ", "Two."])) is first
    assert len(known) == 1


def test_one_apart_knows_nothing_and_has_the_same_size() -> None:
    known = Known(1 << 16)
    text = known.text("a text")
    apart = known.apart()
    assert (len(apart), apart.max_bytes, apart.live) == (0, known.max_bytes, known.live)
    assert apart.text("a text") is not text


def test_the_least_recently_used_goes_first() -> None:
    one = Text.of("a" * 1000).size
    known = Known(3 * one)
    texts = [known.text(letter * 1000) for letter in "abc"]
    assert known.text("a" * 1000) is texts[0]
    known.text("d" * 1000)
    assert len(known) == 3
    assert known.text("a" * 1000) is texts[0]
    assert known.text("c" * 1000) is texts[2]
    assert known.text("b" * 1000) is not texts[1]


def test_a_text_larger_than_the_memo_is_cleaned_and_not_kept() -> None:
    known = Known(2000)
    known.text("small")
    assert known.text("x" * 5000).clean == "x" * 5000
    assert (len(known), known.bytes) == (0, 0)


def test_what_is_worked_out_later_counts_too() -> None:
    known = Known(10_000_000)
    for number in range(200):
        known.text(f"Sentence {number}. " * 20).shingles  # noqa: B018  # asked for, so kept
    before = known.bytes
    for number in range(56):
        known.text(f"Other {number}.")
    assert known.bytes > 2 * before


def test_another_knows_nothing_yet_and_cleans_of_the_same_strings() -> None:
    known = Known(1000, compile_rules(rules_of(["[OWN]"])))
    known.text("a")
    other = known.apart()
    assert (len(other), other.max_bytes) == (0, 1000)
    assert known.line("[OWN]\n") == other.line("[OWN]") == "[\\OWN]"


def test_what_is_gone_by_then_does_not_count() -> None:
    known = Known(3 * Text.of("Number 100.").size)
    for number in range(100, 400):
        known.text(f"Number {number}.")
    assert len(known) == 3
    assert known.bytes == 3 * Text.of("Number 100.").size


@given(st.lists(st.sampled_from(["a", "b " * 50, "c. " * 100, "d" * 700, "e" * 3000])), st.integers(0, 5000))
def test_never_larger_than_allowed(raws: list[str], limit: int) -> None:
    known = Known(limit)
    for raw in raws:
        assert known.text(raw).raw == raw
        assert known.bytes <= limit
        assert known.bytes == sum(text.size for text in known._texts.values())
        assert known._texts.keys() == known._sizes.keys()
