"""Gate `wrong_language`: the document is said to be in a language that the policy does not want.

Knows: `languages`, by their first subtag, so that `zh` means `zh-Hant`, too. An empty list wants all.
Does not know: what language a text is in. A document that does not say passes.
"""

from __future__ import annotations

from typing import Literal

from elbowroom.decide.passage import Gate, Limits, Passage, Refusal, Room
from elbowroom.records import Drop

REASON = Drop.WRONG_LANGUAGE
MOMENT: Literal["sift", "pack"] = "sift"


def build(limits: Limits) -> Gate:
    """Refuses what is said to be in none of `languages`; names its language."""
    wanted = frozenset(map(_first, limits.languages))

    def refuse(passage: Passage, _room: Room) -> Refusal | None:
        said = passage.document.lang
        if not wanted or not said or _first(said) in wanted:
            return None
        return Refusal(f"in {said[:20]}, not in {', '.join(sorted(wanted))}")

    return refuse


def _first(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].strip().lower()
