"""The packers: ways to choose among passages, one file each, named as the policy names them.

Knows: which files lie in this folder. A name that is not one of them cannot be loaded.
Does not know: how any of them chooses.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from elbowroom.decide.passage import Packer

NAMES = frozenset(module.name for module in iter_modules(__path__))


@cache
def load(name: str) -> Packer:
    """`pack` of the packer of that name; `KeyError` where there is no such file."""
    if name not in NAMES:
        raise KeyError(name)
    return cast("Packer", import_module(f"{__name__}.{name}").pack)
