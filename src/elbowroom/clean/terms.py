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
from operator import add

_UNSPACED = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Vowel signs are no word characters to `re`, and without them an Indic or Arabic word falls to pieces.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983\
\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\
\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u200c\u200d"
_NUMBER = r"(?:,[0-9]{3}(?![0-9])|\.[0-9]+)*"
_ASCII = re.compile(rf"[0-9]+{_NUMBER}[a-z]*|[a-z][a-z0-9]*")
_WORDS = re.compile(
    rf"[0-9]+{_NUMBER}[a-z]*|[a-z][a-z0-9]*(?![^\W_{_UNSPACED}]|[{_MARKS}])|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"
)
_RUNS = re.compile(f"[{_UNSPACED}]+")
_APOSTROPHE = re.compile("['’](?:s|t|re|ve|ll|d|m)(?![a-z])")

_STOP = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "before",
        "being",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "don",
        "during",
        "each",
        "few",
        "for",
        "from",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "isn",
        "it",
        "its",
        "itself",
        "just",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "please",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
    ]
)
# A pair is left out when both of its characters are among these.
_FUNCTION = frozenset(
    "的了是在和与及或也就都而吗呢吧啊么什哪谁何有为被把对于这那个之其是否请问我你他她它们不没会能可以要从到给向于将已并但因所如"
    "のはをにがでともへやかねよたてるすまししいなっれらこそさうだんりくき"
)  # fmt: skip
_LONGEST = 40  # characters of a word that is looked at; longer ones are kept as they are and not remembered


def terms(text: str) -> Counter[str]:
    """How often each term occurs in the text, stop words left out."""
    lowered = text.lower()
    if "'" in lowered or "’" in lowered:
        lowered = _APOSTROPHE.sub(" ", lowered)
    counted: Counter[str] = Counter()
    words = Counter((_ASCII if lowered.isascii() else _WORDS).findall(lowered))
    for word, count in words.items():
        term = stem(word) if len(word) <= _LONGEST else word
        if term:
            counted[term] += count
    if lowered.isascii():
        return counted
    for run in _RUNS.findall(lowered):
        counted.update(map(add, run, run[1:]) if len(run) > 1 else run)
    for pair in [pair for pair in counted if pair[0] in _FUNCTION and pair[-1] in _FUNCTION]:
        del counted[pair]
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
