"""Two decisions about the same documents: what became otherwise, passage by passage.

Knows: which differences in a passage's fate a reviewer wants to see.
Does not know: why the decisions were taken twice, or any text.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from elbowroom.records import Fate


class Change(Struct, frozen=True):
    """One document whose fate is another one now."""

    before: Fate
    after: Fate

    @property
    def kind(self) -> str:
        """`admitted`, `dropped`, `reason` (dropped for another one), `cut` (other sentences) or `moved`."""
        if self.before.decision != self.after.decision:
            return self.after.decision
        if self.before.reason != self.after.reason:
            return "reason"
        return "moved" if _sent(self.before) == _sent(self.after) else "cut"


def changes(before: Iterable[Fate], after: Iterable[Fate]) -> list[Change]:
    """By position, those only that changed. Documents that one side does not have are not compared."""
    old = {fate.position: fate for fate in before}
    pairs = [(old[fate.position], fate) for fate in after if fate.position in old]
    differing = [Change(a, b) for a, b in pairs if _shown(a) != _shown(b)]
    return sorted(differing, key=lambda change: change.before.position)


def _sent(fate: Fate) -> object:
    return fate.tokens, fate.spans


def _shown(fate: Fate) -> object:
    return fate.decision, fate.reason, fate.label, _sent(fate) if fate.decision == "admitted" else None
