"""A title, as something that other texts may name.

Knows: its terms and its normal form, without a remark in parentheses behind it ("Mercury (planet)").
Does not know: the passage that bears it.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from msgspec import Struct

from elbowroom.clean.terms import terms
from elbowroom.clean.text import normal

_REMARK = re.compile(r"(?<=\S)\s*[(（][^()（）]*[)）]$")
SHORTEST = 3  # letters and digits; what is shorter is named by chance


class Title(Struct, frozen=True):
    terms: frozenset[str]
    name: str  # normal form, without the remark; "" where it is too short for anybody to tell that it is meant
    name_terms: frozenset[str]

    def named_in(self, terms: Set[str], normal: str) -> bool:
        """Whether the name stands in the text with these terms and this normal form: words as words, side by side."""
        return bool(self.name) and self.name_terms <= terms and self.name in normal


@lru_cache(maxsize=1 << 13)
def title_of(line: str) -> Title:
    """What is to be known of a title; remembered, as titles come again and again."""
    bare = _REMARK.sub("", line)
    name = normal(bare)
    name_terms = frozenset(terms(bare))
    return Title(frozenset(terms(line)), name if name_terms and len(name) >= SHORTEST else "", name_terms)
