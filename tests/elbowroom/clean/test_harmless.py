"""What is done around suspects alone comes to the same as what is done to the whole text, step by step."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elbowroom.clean import harmless as short
from elbowroom.clean import sanitise as module
from elbowroom.clean.control_strings import RULES
from elbowroom.clean.forms import FOLDS
from elbowroom.clean.harmless import Harmless, harmless
from elbowroom.clean.neutralise import LIVE, Live, compile_rules, rules_of
from tests.payloads import PAYLOADS

TOKENS = ("§end§", "[OWN]", "BOSBOS", "a)x)", "B" * 300, "TELnX", "nX.", "...", "Ａb", "a?b", "(1)")
OWN = compile_rules([*RULES, *rules_of(TOKENS)])
RUN = re.compile(f"[{module._HIDDEN}]+")
LINE_END = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def straightforward(text: str, live: Live, mark: str) -> Harmless:
    """Every character is looked at and every one is folded, by nothing but Python's own means."""
    spans = [found.span() for found in re.finditer("[\ud800-\udfff]", text)]
    removed = len(spans)
    bare, done = "", 0
    for run in RUN.finditer(text):
        start, end = run.span()
        kept = module._visible_part(text[start - 1 : start], run[0], text[end : end + 1])
        bare += text[done:start] + kept
        done = end
        if kept != run[0]:
            spans.append((start, end))
            removed += end - start - len(kept)
    bare = LINE_END.sub("\n", re.sub("[\ud800-\udfff]", "\ufffd", bare + text[done:]))

    form = "".join(FOLDS.get(char, char) for char in bare)
    ends = list(accumulate(len(FOLDS.get(char, char)) for char in bare))
    behind = {bisect_left(ends, found.end()) + 1 for part in live.parts for found in part.pattern.finditer(form)}
    cuts = [0, *sorted(behind), len(bare)]
    clean = mark.join(bare[start:end] for start, end in pairwise(cuts))
    broken = tuple((at + n * len(mark) - 1, at + (n + 1) * len(mark)) for n, at in enumerate(cuts[1:-1]))
    return Harmless(clean, removed, tuple(sorted(spans)), broken)


EXAMPLES = [string for rule in RULES for string in rule.examples] + list(TOKENS) + PAYLOADS
HIDDEN = ("\u200b", "\u200d", "\ufe0f", "\xad", "\ufeff", "\x07", "\U000e0067", "\u2060" * 300)
PLAIN = (
    *("é", "，", "：", "<b>", "</b>", "[x]", "<", "|", "#4 ", " ", "\\", '"', "/", "1", "s", "…", "™", "ﬁ", "№", "１"),
    *("＜", "［", "⒜", "\ud800", "❤\ufe0f", "👨\u200d👩", "🏴\U000e0067\U000e007f", "م\u200cی"),
    *("❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "ष\u200dष", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"),
    *("\r", "\r\n", "\x85", "\u2028", "\n\n"),
)
BY_FORM: dict[str, list[str]] = {}
for _char, _form in FOLDS.items():
    BY_FORM.setdefault(_form, []).append(_char)
OVERLAPPING = sorted(form for form in BY_FORM if len(form) > 1)


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """A control string, or the first half of one, in other forms, with what nobody sees in between. A form of several
    characters may stand for some of it, and reach over its ends.
    """
    string = draw(st.sampled_from(EXAMPLES))
    string = string[: draw(st.just(len(string)) | st.integers(0, len(string)))]
    if string and draw(st.integers(0, 3)) == 0:
        over = [form for form in OVERLAPPING if form[-1] == string[0]]
        string = (draw(st.sampled_from(over))[:-1] if over else "") + string
    pieces, at = [], 0
    while at < len(string):
        long = [form for form in OVERLAPPING if string.startswith(form, at)]
        over = [form for form in OVERLAPPING if at == len(string) - 1 and form[0] == string[at]]
        form = draw(st.sampled_from([string[at], string[at], *long, *over]))
        pieces.append(draw(st.sampled_from([form, *BY_FORM.get(form, [])])))
        pieces.append(draw(st.sampled_from([""] * 9 + list(HIDDEN[:-1]))))
        at += len(form)
    return "".join(pieces)


BARS = st.text(st.sampled_from("a.! é…™"), min_size=1, max_size=70).map("<|{}|>".format)
PIECES = disguised() | BARS | st.sampled_from([*PLAIN, *HIDDEN]) | st.text(max_size=4)
JOINED = ["👩\u200d" * 150 + "👩", "❤\ufe0f\u200d" * 100 + "🔥", "م\u200c" * 150 + "ی", "👩\u200d" * 150]
FAR = st.sampled_from(["退款" * 150, "<b>é</b>，" * 20, *JOINED, *("x" * length for length in range(124, 134))])
TEXTS = st.lists(PIECES | FAR, max_size=10).map("".join)


@settings(deadline=None, max_examples=150)
@given(TEXTS, st.sampled_from([LIVE, OWN]), st.sampled_from(["\\", r"\\", ""]), st.integers(1, 200))
@example("退" * 9000 + "<|im_" + "\u200b" * 500 + "start|>" + "款" * 9000, LIVE, "\\", 50)
@example("退" * 9000 + "B" * 127 + "\u200b" + "B" + "款" * 9000, OWN, "\\", 50)  # as far as a rule looks
@example("退" * 9000 + "⒜ｘ）" + "款" * 9000, OWN, "\\", 50)
@example("退" * 9000 + "\r\n\x00\nＨuman:\n\nＨuman：" + "款" * 9000, LIVE, "\\", 50)
@example("退" * 9000 + "<|…|> <|a…™|> <ﬁm_a|> №", LIVE, "\\", 50)
@example("ab<|im_\u200dstart|>", LIVE, "\\", 3)
@example("\u200dab", LIVE, "\\", 3)
@example("<|x|>" + "x" * 600 + "a\u200db", LIVE, "\\", 999)  # joiners are looked for by themselves
@example("<a\u200d" + "a" * 400 + "BOSBOS™", OWN, "\\", 999)  # one suspect within another
def test_the_short_way_comes_to_the_same(text: str, live: Live, mark: str, part: int) -> None:
    wanted = straightforward(text, live, mark)
    assert harmless(text, live).marked(mark) == wanted
    for apart in (4, short._APART):
        with pytest.MonkeyPatch.context() as patch:  # so that it is taken in short texts, too
            patch.setattr(short, "_PART", part)
            patch.setattr(short, "_APART", apart)
            assert harmless(text, live).marked(mark) == wanted


@pytest.mark.parametrize("joined", JOINED)
def test_what_is_joined_is_never_cut(joined: str) -> None:
    """Wherever the surroundings of a suspect end, and however near to another's they do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short, "_APART", 4)
        for many in range(255, 275):
            text = f"{joined}{'x' * (many % 5)}<|x|>{(joined * 2)[:many]}<|x|>{joined}"
            assert harmless(text) == straightforward(text, LIVE, "\\")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.family}: {rule.examples[0]!r}")
def test_each_rule_is_found_in_any_form_far_inside_of_a_text(rule) -> None:
    alone = compile_rules([rule])
    for string in rule.examples:
        for form in (string, "".join(BY_FORM.get(char, [char])[0] for char in string)):
            text = "退" * 9000 + form + "款" * 9000
            assert harmless(text, alone) == straightforward(text, alone, "\\")
            assert harmless(text, alone).broken_spans


def test_of_a_large_text_only_the_surroundings_of_suspects_are_looked_at() -> None:
    text = "é<b>退款</b> [订单](x)，#4：… 3 × 4 ≤ 12 😀 ™ №\n" * 4000
    assert LIVE.suspects(text, 0) == []
    assert harmless(text) == (text, 0, (), ())
    for one in ("<|im_start|>", "[Ｓ１", "\u200b", "\x07", "\r", "\u2028", "<ﬁ"):
        assert LIVE.suspects(text + one + "é", 1) == [(len(text), len(text) + len(one))]
    assert LIVE.suspects(text + "\u200bé\u200b", 1) is None
    assert LIVE.suspects("é\u200d" * 3, 3) == [(1, 2), (3, 4), (5, 6)]
    assert LIVE.suspects("é\u200d" * 3, 2) is None
    assert LIVE.suspects(text + "\ud800", 1) is None


def test_with_more_rules_than_are_fast_all_is_looked_at() -> None:
    many = compile_rules([*RULES, *rules_of(f"[TOKEN_{number}]" for number in range(600))])
    assert many.suspects("é", 1) is None
    text = "退" * 9000 + "［TOKEN_7] <\u200b|x|>"
    assert harmless(text, many) == straightforward(text, many, "\\")
    assert harmless(text, many).text == "退" * 9000 + "［\\TOKEN_7] <\\|x|>"


def test_what_breaks_it_is_as_long_as_it_has_to_be() -> None:
    text = json.dumps(["退" * 9000, "<|im_start|>", "[INST]"], ensure_ascii=False)
    safe = harmless(text).marked(r"\\")
    assert safe.marked("\\") == harmless(text)
    assert [safe.text[start:end] for start, end in safe.broken_spans] == [r"<\\", r"[\\"]
    assert json.loads(safe.text)[1:] == [r"<\|im_start|>", r"[\INST]"]
