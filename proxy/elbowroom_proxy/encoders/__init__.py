"""Tokenizers other than OpenAI's, each an extra, loaded when first counted with.

Knows: that a vocabulary's name is `kind:which`, that a kind is a file in this folder exporting `build`, and where the
operator's own tokenizer files are.
Does not know: any tokenizer, what is counted, caches, threads.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import pkgutil
from importlib import metadata
from pathlib import Path
from typing import Protocol

from elbowroom.errors import CountUnavailable

KINDS = frozenset(module.name for module in pkgutil.iter_modules(__path__))

# kind -> (module that it needs, its distribution, what to install)
NEEDS = {
    "ctok": ("ctok", "ctok", "elbowroom[claude], on Python 3.11 by requirements/claude.txt"),
    "mistral": ("mistral_common", "mistral-common", "elbowroom[mistral]"),
    "tokenizer": ("tokenizers", "tokenizers", "elbowroom[local]"),
}


class Encoder(Protocol):
    """One vocabulary."""

    quick: bool  # a few kilobytes are counted in well under a millisecond

    def tokens(self, text: str) -> int:
        """T(text). Depends on the text alone. Raises `CountUnavailable` for a text that it cannot count."""


def missing(vocabulary: str) -> str | None:
    """What must be installed for that vocabulary; None where nothing is missing."""
    needs = NEEDS.get(vocabulary.partition(":")[0])
    if needs is None or importlib.util.find_spec(needs[0]) is not None:
        return None
    return f"vocabulary {vocabulary}: install {needs[2]}"


@functools.cache
def identity(vocabulary: str) -> str:
    """A hash, hexadecimal, that changes when counts may: of the name, and of the release that counts."""
    needs = NEEDS.get(vocabulary.partition(":")[0])
    release = metadata.version(needs[1]) if needs is not None and missing(vocabulary) is None else ""
    return hashlib.sha256(f"{vocabulary} {release}".encode()).hexdigest()


def load(vocabulary: str, file: Path | None = None) -> Encoder:
    """The encoder of `kind:which`, or of `bytes`. Raises `CountUnavailable` where it is unknown or not installed."""
    kind, _, which = vocabulary.partition(":")
    if kind not in KINDS:
        raise CountUnavailable(f"vocabulary {vocabulary}: unknown")
    fault = missing(vocabulary)
    if fault is not None:
        raise CountUnavailable(fault)
    encoder: Encoder = importlib.import_module(f"{__name__}.{kind}").build(which, file)
    return encoder
