"""Adapters that keep counts, keys, sums and holds outside a request.

Knows: which ledgers there are: each is a file `ledger_<name>.py` here whose name configuration says, and which exports
`build`; nothing else can be loaded.
Does not know: which of the stores is in use (`app` decides).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from elbowroom_proxy.ledgerconfig import LEDGERS, PREFIX
from elbowroom_proxy.ports import Ledger


def load_ledger(name: str) -> Callable[..., Ledger]:
    """That module's `build(row, clock)`, where `clock` may be left out. KeyError for a name that is no ledger here."""
    if name not in LEDGERS:
        raise KeyError(name)
    build: Callable[..., Ledger] = importlib.import_module(f"{__name__}.{PREFIX}{name}").build
    return build
