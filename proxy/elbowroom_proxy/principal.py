"""Who asks.

Knows: that in open mode (no keys configured) everybody is the same principal, who may ask for everything.
Does not know: keys, tokens or tenants; whoever brings them provides another `Identify`. Nothing here reads a body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from elbowroom.records import Principal

# Headers (lower-case names) -> who sent them; raises an `ElbowroomError` for credentials that do not hold.
Identify = Callable[[Mapping[str, str]], Principal]

OPEN = Principal()


def open_principal(_: Mapping[str, str]) -> Principal:
    """Everybody, whatever the headers say."""
    return OPEN
