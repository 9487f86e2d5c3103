"""The gates: one reason to leave a passage out, one file each, named as the policy names them.

Knows: which files lie in this folder. A name that is not one of them cannot be loaded.
Does not know: what any gate does, or in which order a policy wants them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from elbowroom.decide.passage import GateModule

NAMES = frozenset(module.name for module in iter_modules(__path__))


@cache
def load(name: str) -> GateModule:
    """The gate of that name; `KeyError` where there is no such file."""
    if name not in NAMES:
        raise KeyError(name)
    return cast("GateModule", import_module(f"{__name__}.{name}"))
