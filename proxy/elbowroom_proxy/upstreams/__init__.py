"""Adapters that send packed requests; a module's name here is what configuration says, and it exports `build`.

Knows: which names there are: the files of this folder, nothing else can be loaded.
Does not know: which of them is in use (`app` decides).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from elbowroom_proxy.addresses import UPSTREAMS, Endpoint, Meter
from elbowroom_proxy.ports import Upstream


def load(name: str) -> Callable[[Endpoint, Meter], Upstream]:
    """That module's `build(endpoint, meter)`. KeyError for a name that is no file here."""
    if name not in UPSTREAMS:
        raise KeyError(name)
    build: Callable[[Endpoint, Meter], Upstream] = importlib.import_module(f"{__name__}.{name}").build
    return build
