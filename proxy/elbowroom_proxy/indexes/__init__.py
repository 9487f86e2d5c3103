"""Where records are found by what they say: a database a file, and each exports `build`.

Knows: which there are: the files of this folder whose names begin with a letter; nothing else can be loaded.
Does not know: which of them is in use (`app` and the command line decide), or how files of records are read.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from elbowroom_proxy.ports import TraceIndex

NAMES = frozenset(one.stem for one in Path(__file__).parent.glob("[a-z]*.py"))


def load(name: str) -> Callable[[Path], TraceIndex]:
    """That module's `build(folder)`: the index of that folder's records. KeyError for a name that is no file here."""
    if name not in NAMES:
        raise KeyError(name)
    build: Callable[[Path], TraceIndex] = importlib.import_module(f"{__name__}.{name}").build
    return build
