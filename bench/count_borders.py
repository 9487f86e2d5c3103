"""Fuzzes the claim that makes cached counts add up: T(a + b) = T(a) + T(b) at a line break before a visible letter.

    python -m bench.count_borders [BORDERS [SEED]]

Knows: texts in many scripts, cut and joined in every way that the claim allows. Does not know: where the engine cuts.
"""

from __future__ import annotations

import random
import sys
import time

from elbowroom_proxy.vocabularies import FILES, Vocabularies

PIECES = (
    "word", " and", "The", "n't", "'s", "'S", "HTTP", "camelCase", "naïve",
    "Straße", "дом", "한국어", "中文字", "。", "，", "！", "عربي", "עברית", "हिन्दी", "ไทย",
    "İ", "ſ", "ʰ", "e\u0301", "\u0301", "\u200b", "\u200d",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "🙂", "🇫🇷", "1", "1234", "½", "٣",
    "/", "//", "\\", "...", "?!", "```", "**", "#", "-", "—", "_", "<", ">",
    "</doc>", "{", '"', "'", "$", "€", "\x00", "\ufffd", "\ud800", "<|endoftext|>",
    " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", "\xa0", "\u3000", "\u2028", "\x0b",
)  # fmt: skip


def border(dice: random.Random) -> tuple[str, str]:
    """One text that ends in a line break and one that begins with neither white space nor a slash."""
    before = "".join(dice.choices(PIECES, k=dice.randint(0, 6))) + "\n"
    while True:
        after = "".join(dice.choices(PIECES, k=dice.randint(1, 6)))
        if not after[0].isspace() and after[0] != "/":
            return before, after


def main() -> int:
    given = [int(value) for value in sys.argv[1:]]
    borders, seed = (given + [100_000, 1][len(given) :])[:2]
    vocabularies, failures = Vocabularies(), 0
    for name in FILES:
        dice, started = random.Random(seed), time.perf_counter()
        for _ in range(borders):
            before, after = border(dice)
            apart = vocabularies.tokens(name, before) + vocabularies.tokens(name, after)
            if vocabularies.tokens(name, before + after) != apart:
                failures += 1
                print(f"{name}: {before!r} + {after!r}")
        print(f"{name}: {borders} borders, {failures} failures, {time.perf_counter() - started:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
