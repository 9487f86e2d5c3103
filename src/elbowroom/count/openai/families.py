"""Families of models that are billed alike, as data.

Knows: what differs between families: priming, tools and calls, images.
Does not know: names of models (the catalog maps a name to a family and a vocabulary).
"""

from __future__ import annotations

from msgspec import Struct

from elbowroom.count.openai.images import Images, Patches, Tiles, Widest
from elbowroom.errors import CountUnavailable


class Family(Struct, frozen=True):
    priming: int  # the start of the answer
    call: int  # a call of one tool, beside its name and arguments
    tools: int  # once, where there are tools, beside their text
    described: int  # once, where a tool has a description or is strict
    choice_counts: bool  # whether `tool_choice` none or a name costs anything
    images: Images
    responses_tools: int = 3  # the same as `tools`, in the Responses form
    spare: int = 0  # added to the whole, and the count is a bound


_CHAT = Family(priming=3, call=7, tools=9, described=0, choice_counts=True, images=Tiles(85, 170))
_REASONING = Family(priming=2, call=7, tools=9, described=0, choice_counts=True, images=Tiles(75, 150))
_GPT5 = Family(priming=2, call=13, tools=90, described=1, choice_counts=False, images=Tiles(70, 140), responses_tools=8)

FAMILIES = {
    "gpt-3.5": _CHAT,
    "gpt-4": _CHAT,
    "gpt-4o": _CHAT,
    "gpt-4o-mini": Family(3, 7, 9, 0, True, Tiles(2833, 5667)),
    "gpt-4.1": _CHAT,
    "gpt-4.1-mini": Family(3, 7, 9, 0, True, Patches(1.62)),
    "gpt-4.1-nano": Family(3, 7, 9, 0, True, Patches(2.46)),
    "o1": _REASONING,
    "o3": _REASONING,
    "o4-mini": Family(2, 7, 9, 0, True, Patches(1.72)),
    "gpt-5": _GPT5,
    "gpt-5-mini": Family(2, 13, 90, 1, False, Patches(1.2), 8),
    "gpt-5-nano": Family(2, 13, 90, 1, False, Patches(1.5), 8),
    # Nobody told us: the dearest of everything above, and sixteen more.
    "unknown": Family(3, 13, 90, 1, True, Widest((Tiles(2833, 5667), Patches(2.46))), 90, spare=16),
}


def family(name: str) -> Family:
    """The family of that name. Raises `CountUnavailable` where a catalog names one that does not exist."""
    try:
        return FAMILIES[name]
    except KeyError:
        raise CountUnavailable(f"openai_chat knows no family {name!r}", param="model") from None
