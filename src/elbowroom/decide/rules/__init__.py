"""The class rules: what a kind of question asks of its evidence, one file each, named as the class files name them.

Knows: which files lie in this folder. A name that is not one of them cannot be loaded.
Does not know: any class by name, or what a rule does. A rule only orders, divides the room and leaves out: the packer
that it drives still asks every gate about every passage.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from elbowroom.decide.passage import Job, Packer, Packing
from elbowroom.needs import Steps

NAMES = frozenset(module.name for module in iter_modules(__path__))


class Rule(Protocol):
    """What a file in this folder exports."""

    REMARKS: bool  # whether it tells how many sources are shown, and room for the sentence must be left
    WHOLE: bool  # whether it drops what was shortened, so that nothing may be shortened in favour of another

    def pack(self, job: Job, packer: Packer, /) -> Steps[Packing]:
        """The packer's packing of the job under the rule; every passage of the job is on one side of it."""


@cache
def load(name: str) -> Rule:
    """The rule of that name; `KeyError` where there is no such file."""
    if name not in NAMES:
        raise KeyError(name)
    return cast("Rule", import_module(f"{__name__}.{name}"))
