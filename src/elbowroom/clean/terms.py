"""The terms of a text: what a question and a passage can have in common.

Knows: words, numbers, and the scripts that write without spaces; which words carry nothing.
Does not know: how rare a term is (that takes the other candidates), or which language a text was said to be in.

Words are lowercased, and English ones lose a plural, -ed or -ing. Han, kana and Hangul become pairs of neighbouring
code points; a run of one stays single. Numbers keep their decimals and lose their thousands separators.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import chain, product
from operator import add

_UNSPACED = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
# Vowel signs are no word characters to `re`, and without them an Indic or Arabic word falls to pieces.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u200c\u200d"
)
# Forty characters are a word; what is longer (base64) becomes several, so that no word is worth not remembering.
_NUMBER = r"[0-9]{1,40}(?:,[0-9]{3}(?![0-9])|\.[0-9]{1,40})*+[a-z]{0,40}"
_ASCII = re.compile(rf"{_NUMBER}|[a-z][a-z0-9]{{0,39}}")
_WORDS = re.compile(rf"{_NUMBER}|[\w{MARKS}]{{1,40}}")
_APOSTROPHE = re.compile("['’](?:s|t|re|ve|ll|d|m)(?![a-z])")

_ENGLISH = (
    "a about after all also am an and any are as at be been before being between both but by can could did do "
    "does doing don during each few for from had has have having he her here hers him his how i if in into is isn "
    "it its itself just me more most my no nor not now of off on once only or other our ours out over own please "
    "same she should so some such than that the their theirs them then there these they this those through to too "
    "under until up us very was we were what when where which while who whom whose why will with would you your "
    "yours "
)
_STOP = frozenset(_ENGLISH.split())
_CHINESE = (
    "的了是在和与及或也就都而吗呢吧啊么什哪谁何有为被把对于这那个之其否请问"
    "我你他她它们不没会能可以要从到给向将已并但因所如"
)
_JAPANESE = "のはをにがでともへやかねよたてるすましいなっれらこそさうだんりくき"
_FUNCTION = frozenset(first + second for some in (_CHINESE, _JAPANESE) for first, second in product(some, some))


def terms(text: str) -> Counter[str]:
    """How often each term occurs in the text, stop words left out."""
    text = text.lower()
    if "'" in text or "’" in text:
        text = _APOSTROPHE.sub(" ", text)
    runs: list[str] = []
    if not text.isascii():
        runs = _UNSPACED.findall(text)
        text = _UNSPACED.sub(" ", text).replace("_", " ")
    found = (_ASCII if text.isascii() else _WORDS).findall(text)
    counted = Counter(map(stem, found))
    if runs:
        counted.update(chain.from_iterable(map(add, run, run[1:]) if len(run) > 1 else run for run in runs))
        for pair in _FUNCTION.intersection(counted):
            del counted[pair]
    del counted[""]  # what `stem` made of stop words; a Counter does not mind if there were none
    return counted


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """The word without its English ending, the same for all forms that differ in it; `""` for a stop word.

    Crude on purpose: both sides of every comparison go through it, so it need not yield words.
    """
    if word in _STOP:
        return ""
    if word[0].isdigit():
        return word.replace(",", "")
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= 3:
            word = base[:-1] if base[-1] == base[-2] and base[-1] not in "ls" else base
            break
    return word.removesuffix("e") if len(word) > 4 else word
