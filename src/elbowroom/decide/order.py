"""In which order admitted passages are shown.

Knows: three orders. None is claimed to make a model answer better; `edges` is for models that read the middle worst.
Does not know: why the passages were admitted, or how they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from elbowroom.decide.passage import Admitted

Order = Literal["best_first", "edges", "document"]


def arrange(admitted: Sequence[Admitted], order: Order) -> tuple[Admitted, ...]:
    """The passages, given best first, in the order asked for.

    `best_first`: as given. `edges`: the best first, the second best last, and so on inwards, so that the weakest stands
    in the middle. `document`: as the client listed them.
    """
    if order == "edges":
        return (*admitted[::2], *reversed(admitted[1::2]))
    if order == "document":
        return tuple(sorted(admitted, key=lambda one: one.passage.document.position))
    return tuple(admitted)
