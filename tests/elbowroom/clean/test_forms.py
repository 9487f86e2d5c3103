from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.clean.control_strings import RULES
from elbowroom.clean.forms import FOLDS, folded, re2_of, shadow, unfolded


def test_the_folds_are_all_characters_whose_compatibility_form_is_ascii() -> None:
    everything = (chr(code) for code in range(0x80, sys.maxunicode + 1))
    compatible = {char: form for char in everything if (form := unicodedata.normalize("NFKC", char)).isascii()}
    assert compatible == FOLDS
    # A bracket is a character of the text, never a part of one that folds to several.
    assert not [form for form in FOLDS.values() if len(form) > 1 and set("<[]") & set(form)]


FORMS = st.text(st.sampled_from([*FOLDS, *"<[|]>aZ0 é退\ud800😀"]))


@given(FORMS, st.sampled_from(["", "退款" * 900, "".join(FOLDS)]))
def test_a_shadow_has_every_form_folded_and_nothing_else(text: str, more: str) -> None:
    assert shadow(text + more) == "".join(FOLDS.get(char, char) for char in text + more)


def test_many_different_forms_are_folded_at_once() -> None:
    text = "".join(map(chr, range(0xFF21, 0xFF5B))) + "＜s＞😀"
    assert shadow(text).endswith("XYZ[\\]^_`abcdefghijklmnopqrstuvwxyz<s>😀")


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str]:
    """A rule and what it matches, some of it in other forms."""
    rule = draw(st.sampled_from(RULES))
    whole = f"{re.escape(rule.before + rule.first)}(?:{rule.rest})"
    match = draw(st.from_regex(whole, fullmatch=True))
    return whole, "".join(
        draw(st.sampled_from([char, *(one for one in FOLDS if FOLDS[one] == char)])) for char in match
    )


@given(cases())
def test_a_rule_for_a_shadow_is_asked_of_the_text_itself(case: tuple[str, str]) -> None:
    rule, text = case
    assert re2_of(folded([rule])).search(shadow(text).encode("utf-8", "replace")) is not None
    assert re2_of(unfolded([rule])).search(text.encode("utf-8", "replace")) is not None


@pytest.mark.parametrize(
    ("rule", "found", "passed"),
    [
        (r"<(?:in|on)x?\|", ["<in|", "＜ⓘ𝓷ｘ｜", "<i㏌"], ["<x|", "in|", "㏌", "㎝"]),
        (r"<[0-9]{2,3}", ["<１²", "<1⑽"], ["<1x", "⑽", "<㎝"]),
        (r"a\)[^x]>", ["ａ)…>", "⒜…>", "㏂"], ["a…", "…>", "㎝"]),
    ],
)
def test_a_form_of_several_characters_is_found_where_the_rule_may_need_it(
    rule: str, found: list[str], passed: list[str]
) -> None:
    pattern = re2_of(unfolded([rule]))
    assert [text for text in found if pattern.search(text.encode()) is None] == []
    assert [text for text in passed if pattern.search(text.encode()) is not None] == []
