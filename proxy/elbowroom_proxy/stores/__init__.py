"""Adapters that keep counts, keys, sums and holds outside a request.

Knows: which ledgers there are: each is a file `ledger_<name>.py` here whose name configuration says, and which exports
`build`; nothing else can be loaded. The others whose libraries take long to load are loaded when somebody wants one.
Does not know: which of the stores is in use (`app` decides).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from elbowroom_proxy.ledgerconfig import LEDGERS, PREFIX
from elbowroom_proxy.ports import KillSwitch, Ledger, PublicKeys

if TYPE_CHECKING:
    from elbowroom_proxy.stores.redis import RedisCounts


def load_ledger(name: str) -> Callable[..., Ledger]:
    """That module's `build(row, clock)`, where `clock` may be left out. KeyError for a name that is no ledger here."""
    if name not in LEDGERS:
        raise KeyError(name)
    build: Callable[..., Ledger] = _module(f"{PREFIX}{name}").build
    return build


def redis_counts(url: str) -> RedisCounts:
    """Counts that are shared through the Redis there."""
    counts: RedisCounts = _module("redis").RedisCounts(url)
    return counts


def kill_key(url: str) -> KillSwitch:
    """The switch in the Redis there."""
    switch: KillSwitch = _module("killkey").KillKey(url)
    return switch


def public_keys(where: str, *, max_age: float) -> PublicKeys:
    """An issuer's, at an address or in a file, read again after `max_age` seconds."""
    keys: PublicKeys = _module("jwks").Jwks(where, max_age=max_age)
    return keys


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
