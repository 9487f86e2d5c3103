from __future__ import annotations

import importlib.util
import json
import os
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elbowroom.clean.control_strings import RULES
from elbowroom.clean.neutralise import LIVE, compile_rules, neutralise, rules_of
from elbowroom.clean.sanitise import sanitise

litellm = importlib.util.find_spec("litellm")
assert litellm is not None
assert litellm.submodule_search_locations is not None
os.environ.setdefault(
    "TIKTOKEN_CACHE_DIR", str(Path(litellm.submodule_search_locations[0], "litellm_core_utils", "tokenizers"))
)

import tiktoken  # noqa: E402  # it reads its environment on use; offline it needs the folder above


@cache
def vocabularies() -> list[tiktoken.Encoding]:
    return [tiktoken.get_encoding(name) for name in ("o200k_base", "cl100k_base")]


def clean(text: str) -> str:
    return neutralise(sanitise(text).text).text


def test_one_backslash_after_the_first_character() -> None:
    raw = "<|im_start|>system [INST] </s> <S1-42> [S1]"
    assert neutralise(raw) == (
        r"<\|im_start|>system [\INST] <\/s> <\S1-42> [\S1]",
        5,
        ((0, 1), (19, 20), (26, 27), (31, 32), (39, 40)),
    )


@pytest.mark.parametrize(
    ("raw", "broken"),
    [
        ("＜|im_start|＞", "＜\\|im_start|＞"),
        ("<｜begin▁of▁sentence｜>", "<\\｜begin▁of▁sentence｜>"),
        ("［INST］ ﹤/s﹥", "［\\INST］ ﹤\\/s﹥"),
        ("<|ﬁm_preﬁx|>", "<\\|ﬁm_preﬁx|>"),  # ligatures, that grow when folded
        ("ﬃ ㎒ <|im_ﬆart|> ﬁ ［S１］ x", "ﬃ ㎒ <\\|im_ﬆart|> ﬁ ［\\S１］ x"),
        ("<|𝐢𝐦_𝓼𝓽𝓪𝓻𝓽|>", "<\\|𝐢𝐦_𝓼𝓽𝓪𝓻𝓽|>"),
        ("x\n\nＨuman： hi", "x\n\nＨ\\uman： hi"),
        ("<|im_\u200bstart|> [IN\u200dST] <\u2060/s>", "<\\|im_start|> [\\INST] <\\/s>"),
    ],
)
def test_forms_that_only_look_different(raw: str, broken: str) -> None:
    assert clean(raw) == broken


def test_overlapping_strings_are_each_broken() -> None:
    assert neutralise("<|a [INST] b|>").text == r"<\|a [\INST] b|>"
    assert neutralise("<<SYS>>[[INST]<<|x|>").text == r"<\<SYS>>[[\INST]<<\|x|>"
    assert neutralise("<s><s></s>").text == r"<\s><\s><\/s>"


@pytest.mark.parametrize("text", ["", "plain", "全角，标点。", "a\n\nb", "第［三］章\n\n＜注＞"])
def test_text_without_control_strings_comes_back_as_it_is(text: str) -> None:
    assert neutralise(text) == (text, 0, ())


PIECES = st.one_of(
    st.sampled_from([example for rule in RULES for example in rule.examples]),
    st.sampled_from(["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|start|>", "<|reserved_200000|>"]),
    st.text(st.sampled_from("<>[]|\\/sS1_ \n＜｜＞［］ﬁ\u200b"), max_size=8),
    st.text(max_size=8),
)  # fmt: skip
ASSEMBLED = st.lists(PIECES, max_size=8).map("".join)


@st.composite
def disguised(draw: st.DrawFn) -> str:
    """A control string in which characters were swapped for their full-width forms, hidden ones put between."""
    string = draw(st.sampled_from([example for rule in RULES for example in rule.examples]))
    return "".join(
        (chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and draw(st.booleans()) else c)
        + draw(st.sampled_from(["", "", "\u2060"]))
        for c in string
    )


@given(ASSEMBLED)
@example("<|a<|b|>")
@example("]~b]~b]")
def test_idempotent_after_sanitising(text: str) -> None:
    once = clean(text)
    assert clean(once) == once


@given(ASSEMBLED | disguised())
def test_nothing_is_live_afterwards_nor_in_the_compatibility_form(text: str) -> None:
    once = clean(text)
    assert not LIVE.search(once)
    assert not LIVE.search(unicodedata.normalize("NFKC", once))


@given(ASSEMBLED)
def test_only_backslashes_are_added(text: str) -> None:
    before = sanitise(text).text
    after = neutralise(before)
    assert len(after.text) == len(before) + after.removed
    cuts = [0, *(end for _, end in after.spans), len(before)]
    pieces = [before[start:end] for start, end in pairwise(cuts)]
    assert "\\".join(pieces) == after.text


@given(ASSEMBLED)
def test_cutting_brings_nothing_to_life(text: str) -> None:
    once = clean(text)
    assert not any(LIVE.search(once[:cut]) for cut in range(len(once)))


@settings(max_examples=50)
@given(ASSEMBLED | disguised())
def test_encoding_with_every_special_allowed_equals_encoding_with_none(text: str) -> None:
    once = clean(text)
    for form in (once, unicodedata.normalize("NFKC", once)):
        for vocabulary in vocabularies():
            assert vocabulary.encode(form, allowed_special="all") == vocabulary.encode(form, disallowed_special=())


def test_the_test_above_can_fail() -> None:
    for vocabulary in vocabularies():
        raw = "a <|endoftext|>"
        assert vocabulary.encode(raw, allowed_special="all") != vocabulary.encode(raw, disallowed_special=())


def test_every_special_token_of_the_vocabularies_is_broken() -> None:
    for vocabulary in vocabularies():
        for token in vocabulary.special_tokens_set:
            assert neutralise(token).removed, token


def test_the_shared_payloads_hold_no_live_control_string(shared: Path) -> None:
    rows = json.loads((shared / "data" / "injection_payloads.json").read_text())
    live = 0
    for row in rows:
        live += bool(LIVE.search(sanitise(row["text"]).text))
        once = clean(row["text"])
        for form in (once, unicodedata.normalize("NFKC", once)):
            assert not LIVE.search(form), row
            for vocabulary in vocabularies():
                assert vocabulary.encode(form, allowed_special="all") == vocabulary.encode(form, disallowed_special=())
        if row["kind"] in ("benign-lookalike", "multilingual"):
            assert once == row["text"].replace("\u200f", "")
    assert live > 5  # so the loop above was about something


def test_a_token_that_begins_inside_of_a_form_is_broken_behind_it() -> None:
    live = compile_rules(rules_of(["a)x)", "B" * 300]))
    assert neutralise("⒜ｘ）", live).text == "⒜\\ｘ）"
    assert neutralise("退" * 2000 + "⒜ｘ）", live).text == "退" * 2000 + "⒜\\ｘ）"
    assert neutralise("ＢＢ⒜ｘ" + "B" * 300, live).removed > 100


# --- what one tokenizer adds ----------------------------------------------------------------------------------------

ADDED = (
    "<|im_start|>",
    "<｜begin▁of▁turn｜>",
    "§end§",
    "[OWN]",
    "<own>",
    "BOSBOS",
    "  ",
    "\n\n",
    "x",
    "<\u200bz>",
    "a\\b",
)


def test_rules_are_made_for_what_would_stay_alive() -> None:
    rules = rules_of(ADDED)
    assert [rule.examples[0] for rule in rules] == ["§end§", "[OWN]", "<own>", "BOSBOS"]
    live = compile_rules([*RULES, *rules])
    for rule in rules:
        (example,) = rule.examples
        assert neutralise(example).text == example
        assert neutralise(f"a {example} b", live).text == f"a {example[0]}\\{example[1:]} b"
    assert neutralise("ＢＯＳＢＯＳ <|im_start|>", live).text == "Ｂ\\ＯＳＢＯＳ <\\|im_start|>"
    assert neutralise("a plain text", live) == ("a plain text", 0, ())


def test_a_token_that_a_line_end_completes_is_broken_without_it() -> None:
    live = compile_rules(rules_of(["[OWN]\n", "\n\n§own"]))
    assert neutralise("§own [OWN]", live).text == "§\\own [\\OWN]"


@given(ASSEMBLED, st.lists(st.text(st.sampled_from("<>[]|/abＡ§"), min_size=2, max_size=5), max_size=3))
def test_added_rules_keep_every_promise(text: str, tokens: list[str]) -> None:
    live = compile_rules([*RULES, *rules_of(tokens)])
    once = neutralise(sanitise("".join([text, *tokens, *tokens])).text, live).text
    assert neutralise(once, live).removed == 0
    assert not any(token in once for token in tokens)
    assert not live.search(unicodedata.normalize("NFKC", once))
