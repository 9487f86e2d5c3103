"""Who may read records, and what is kept of budgets.

Knows: which roles read; that without keys it is this machine alone, whose browser must not be lent to another site.
Does not know: who has which key (`principal`), what is read, or sessions of a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from elbowroom.account.search import Scope
from elbowroom.errors import OriginNotAllowed, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy.principal import Identify

READERS = frozenset({"auditor", "admin"})
NOBODY_ELSE = Principal(subject="open", role="admin")  # whoever sits at a machine that needs no keys


async def reader(identify: Identify, headers: Mapping[str, str]) -> Principal:
    """Who sent these headers (lower-case names), if that may read.

    Raises `InvalidApiKey`, `KeysUnavailable`, `RoleNotAllowed`, and `OriginNotAllowed` where there are no keys.
    """
    found = await identify(headers)
    if not found.keyed:
        check_own_machine(headers)
        return NOBODY_ELSE
    scope(found)
    return found


def scope(principal: Principal) -> Scope:
    """Whose records it may see. Raises `RoleNotAllowed` where that is nobody's."""
    if principal.role not in READERS:
        raise RoleNotAllowed("This key may not read this: it needs the role auditor or admin.")
    return Scope(principal.tenant, principal.org)


def check_own_machine(headers: Mapping[str, str]) -> None:
    """Raises `OriginNotAllowed` unless the address asked for is a loopback one, and no other site's page asks.

    A name that leads to 127.0.0.1 is not enough: anybody's name may, for a moment.
    """
    host = headers.get("host", "")
    if not _loopback(host):
        raise OriginNotAllowed("Without keys, this is answered at 127.0.0.1, ::1 or localhost only.")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        raise OriginNotAllowed("Without keys, no other site's page is answered.")


def _loopback(host: str) -> bool:
    """`name:port`, as the header `host` has it."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
