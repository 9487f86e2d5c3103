"""Who may read records, and what is kept of budgets.

Knows: which roles read; that without keys it is this machine alone, whose browser must not be lent to another site.
Does not know: who has which key (`principal`), what is read, or sessions of a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from elbowroom.account.search import Scope
from elbowroom.errors import OriginNotAllowed, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy.principal import Identify

READERS = frozenset({"auditor", "admin"})
OTHERS = "A key lets others in: see docs/keys.md."
NOBODY_ELSE = Principal(subject="open", role="admin")  # whoever sits at a machine that needs no keys

Peer = tuple[str, int] | None  # address and port at the connection's other end; None: it has none


async def reader(identify: Identify, headers: Mapping[str, str], peer: Peer) -> Principal:
    """Who sent these headers (lower-case names) over that connection, if that may read.

    Raises `InvalidApiKey`, `KeysUnavailable`, `RoleNotAllowed`, and `OriginNotAllowed` where there are no keys.
    """
    found = await identify(headers)
    if not found.keyed:
        check_own_machine(headers, peer)
        return NOBODY_ELSE
    scope(found)
    return found


def scope(principal: Principal) -> Scope:
    """Whose records it may see. Raises `RoleNotAllowed` where that is nobody's."""
    if principal.role not in READERS:
        raise RoleNotAllowed("This key may not read this: it needs the role auditor or admin.")
    return Scope(principal.tenant, principal.org)


def check_own_machine(headers: Mapping[str, str], peer: Peer) -> None:
    """Raises `OriginNotAllowed` unless this machine asks, for a loopback address, and no other site's page.

    A name that leads to 127.0.0.1 is not enough: anybody's name may, for a moment. Nor is the header: whoever reaches
    another address of this machine can write into it what he likes.
    """
    host = headers.get("host", "")
    if peer is None or not is_loopback(peer[0]):
        raise OriginNotAllowed(f"Without keys, this is answered to this machine alone. {OTHERS}")
    if not _names_loopback(host):
        raise OriginNotAllowed(f"Without keys, this is answered at 127.0.0.1, ::1 or localhost only. {OTHERS}")
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        raise OriginNotAllowed("Without keys, no other site's page is answered.")


def is_loopback(address: str) -> bool:
    """Whether that is this machine, which a socket for both kinds of addresses writes as ::ffff:127.0.0.1."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def _names_loopback(host: str) -> bool:
    """`name:port`, as the header `host` has it."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or is_loopback(name)
