"""Counters by name: a counter is a module in this folder that exports `build`.

Knows: which names there are, and how one is loaded for a model.
Does not know: any provider's rules. A name that is not a file in this folder cannot be loaded.
"""

from __future__ import annotations

import importlib
import pkgutil

from elbowroom.count.counter import Counter
from elbowroom.errors import CountUnavailable
from elbowroom.records import Model

NAMES = frozenset(
    module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg and module.name != "counter"
)


def build(model: Model) -> Counter:
    """The counter of a model. Raises `CountUnavailable` where the catalog names one that does not exist."""
    if model.counter not in NAMES:
        raise CountUnavailable(f"model {model.name!r}: there is no counter {model.counter!r}", param="model")
    counter: Counter = importlib.import_module(f"{__name__}.{model.counter}").build(model)
    return counter
