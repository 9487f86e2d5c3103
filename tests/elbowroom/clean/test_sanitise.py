from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elbowroom.clean.sanitise import JOINERS, SUSPECT, misplaced, sanitise

SUSPECTS = f"[{SUSPECT}]"
PROSE = [
    "Plain English — “quoted”, naïve café, 3 × 4 ≤ 12; tab\there.\n\nSecond paragraph.",
    "退款期限为30天，逾期不退！“可以吗？”他问。",
    "返品は30日以内です。「はい」と答えた。ﾊﾝｶｸ",
    "هل يمكنني استرداد المبلغ؟ نعم، خلال ٣٠ يومًا.",
    "می\u200cخواهم بدانم",  # Persian: a non-joiner inside a word
    "क्\u200dष और हिन्दी में उत्तर",  # Hindi: a joiner inside a conjunct
    "환불은 30일 이내에 가능합니다.",
    "👨\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈 🧑🏻\u200d🤝\u200d🧑🏿 ✌🏽 🇩🇪 😀",
    "Press 1\ufe0f\u20e3 or #\ufe0f\u20e3; ☎\ufe0f ©\ufe0f ☺\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f England",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f Scotland",
    "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f Wales",
    "𝒻(x) = ½ ﬁ ① 𠮷野家",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_unchanged(text: str) -> None:
    assert sanitise(text) == (text, 0, ())


@pytest.mark.parametrize(
    ("raw", "clean", "removed", "spans"),
    [
        ("a\x00b\x1bc", "abc", 2, ((1, 2), (3, 4))),
        ("p\xada\u200bss\u2060", "pass", 3, ((1, 2), (3, 4), (6, 7))),
        ("a\u202eb\u2066c\u061cd", "abcd", 3, ((1, 2), (3, 4), (5, 6))),
        ("x\U000e0041\U000e0042y", "xy", 2, ((1, 3),)),  # ASCII written in tags
        ("x\ufdd0\uffff\U0010fffey", "xy", 3, ((1, 4),)),
        ("a\u3164\u115fb\uffa0", "ab", 3, ((1, 3), (4, 5))),
        ("lone \ud83d end\udc00", "lone \ufffd end\ufffd", 2, ((5, 6), (10, 11))),
        ("a\ufe0fb", "ab", 1, ((1, 2),)),  # no emoji to select a form of
        ("❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f", 2, ((1, 4),)),  # one a base
        ("7\ufe0f", "7", 1, ((1, 2),)),  # a digit is a base only inside a keycap
        ("\ufe0f1", "1", 1, ((0, 1),)),
        ("a\u200db", "ab", 1, ((1, 2),)),
        ("👩\u200d", "👩", 1, ((1, 2),)),  # joins nothing
        ("👩\u200da", "👩a", 1, ((1, 2),)),
        ("م\u200c\u200d\u200cی", "م\u200cی", 2, ((1, 4),)),  # one joiner a gap, or a gap could spell bits
        ("م\u200b\u2060ی", "می", 2, ((1, 3),)),
        ("م\u200c.", "م.", 1, ((1, 2),)),
        ("🏴\U000e0067\U000e0062\U000e0061\U000e007f", "🏴", 4, ((1, 5),)),  # a flag nobody recommends
        (
            "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f\U000e0041",
            "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
            1,
            ((1, 8),),
        ),
    ],
)
def test_hidden_characters_go(raw: str, clean: str, removed: int, spans: tuple[tuple[int, int], ...]) -> None:
    assert sanitise(raw) == (clean, removed, spans)


# Unicode 16's Default_Ignorable_Code_Point, written down apart from what is removed, and the annotation controls.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


def test_all_that_nobody_sees_goes_and_nothing_else() -> None:
    hidden = {code for first, last in IGNORABLE for code in range(first, last + 1)}
    hidden |= {code for code in range(0x110000) if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF}
    hidden |= {code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r\x0b\x0c\x85"}
    assert [hex(code) for code in hidden if sanitise(f"a{chr(code)}b").text != "ab"] == []
    half = range(0xD800, 0xE000)
    seen = "".join(chr(code) for code in range(0x110000) if code not in hidden and code not in half)
    assert sanitise(seen).removed == 0


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_every_line_end_is_a_line_feed_and_counts_for_nothing(end: str) -> None:
    assert sanitise(f"a{end}b") == ("a\nb", 0, ())


def test_a_control_between_two_halves_of_a_line_end_is_gone_for_good() -> None:
    once = sanitise("a\r\x00\nb").text
    assert sanitise(once).text == once == "a\nb"


TROUBLE = (
    "a1#\r\n\t\x00\x85\u2028\xad\u200b\u200c\u200d\u202e\u2060\ufe0e\ufe0f\u20e3\ufeff\u3164\ufdd0می्क"
    "❤👩🏽🏴😀\U000e0067\U000e0062\U000e0065\U000e006e\U000e007f\ud800\udfff"
)
FLAG = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
HOSTILE = st.lists(st.sampled_from([*TROUBLE, FLAG]) | st.characters(), max_size=20).map("".join)


@given(HOSTILE)
@example("❤\u200d\ufe0f🔥")
def test_idempotent(text: str) -> None:
    once = sanitise(text)
    assert sanitise(once.text) == (once.text, 0, ())


@given(HOSTILE)
def test_what_is_removed_and_where_add_up(text: str) -> None:
    cleaned = sanitise(text)
    assert bool(cleaned.removed) == bool(cleaned.spans)
    assert list(cleaned.spans) == sorted(cleaned.spans)
    assert all(0 <= start < end <= len(text) for start, end in cleaned.spans)
    assert cleaned.removed <= sum(end - start for start, end in cleaned.spans)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\n\t")))
def test_printable_ascii_is_unchanged(text: str) -> None:
    assert sanitise(text).text == text


def test_the_shared_payloads_keep_their_visible_words(shared: Path) -> None:
    payloads = json.loads((shared / "data" / "injection_payloads.json").read_text())
    for row in payloads:
        clean = sanitise(row["text"]).text
        assert sanitise(clean).text == clean
        assert clean.isascii() or row["text"] == clean or len(clean) < len(row["text"])
    smuggled = [row["text"] for row in payloads if "\U000e0067" in row["text"] and "🏴" not in row["text"]]
    assert smuggled
    assert not any("\U000e0000" <= char <= "\U000e0fff" for text in smuggled for char in sanitise(text).text)


def test_what_holds_no_suspect_comes_back_as_it_is() -> None:
    everything = "".join(f"a{chr(code)}" for code in range(sys.maxunicode + 1))
    suspect = re.compile(f"[{SUSPECT}{JOINERS}\ud800-\udfff]")
    others = suspect.sub("", everything)
    assert sanitise(others) == (others, 0, ())
    for alone in suspect.findall(everything):
        assert sanitise(alone) != (alone, 0, ())


@given(st.text(st.sampled_from("退款，。aZ é\u200b\u2028\x07\r\ud800")))
def test_the_ways_of_looking_see_the_same(text: str) -> None:
    alone = sanitise(text)
    for more in ("退" * 600, "a" * 600):  # so that the text is taken for one or the other
        before, after = sanitise(more + "." + text), sanitise(text + "." + more)
        assert (before.text, after.text) == (f"{more}.{alone.text}", f"{alone.text}.{more}")
        assert before.removed == after.removed == alone.removed


AROUND_JOINERS = (
    "👩",
    "❤",
    "™",
    "\U0001fc00",
    "🏴",
    "1",
    "#",
    "\u20e3",
    "م",
    "ष",
    "a",
    "é",
    "退",
    "",
    "\xad",
    *JOINERS,
)


@given(st.lists(st.sampled_from([*AROUND_JOINERS, *JOINERS]), max_size=6).map("".join))
@example("👩\u200d👩 ❤\ufe0f\u200d👩 1\ufe0f\u20e3 م\u200cم ष\u200dष ❤\ufe0f")
def test_joiners_in_their_place_are_those_that_stay(text: str) -> None:
    """Where runs of joiners alone are touched, one of theirs is named; and where none is named, nothing is touched."""
    named = [start for start, _ in misplaced(text)]
    touched = [span for span in sanitise(text).spans if not re.search(SUSPECTS, text[slice(*span)])]
    assert all(any(start <= at < end for at in named) for start, end in touched)
    if not re.search(SUSPECTS, text):
        assert bool(named) == bool(touched)
    assert all(text[at] in JOINERS for at in named)


@pytest.mark.parametrize(
    "text", ["👩\u200d👩", "❤\ufe0f\u200d👩", "#\ufe0f\u20e3", "م\u200cم", "ष\u200dष", "❤\ufe0f", "™\ufe0fa"]
)
def test_a_joiner_is_in_its_place_with_all_that_it_joins(text: str) -> None:
    assert misplaced(text) == []
    assert sanitise(text).text == text
    for at in (at for at, char in enumerate(text) if char not in JOINERS and char != "a"):
        assert misplaced(text[:at] + "b" + text[at + 1 :])
