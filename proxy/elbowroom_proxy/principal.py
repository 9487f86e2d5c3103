"""Who asks.

Knows: that a principal comes from a bearer key or a verified token and from nothing else; which claims of a token say
what; that without any keys (open mode) everybody is the same principal, who may ask for everything.
Does not know: where keys are kept, what a team lets a token do, or what a principal may see. Nothing here reads a body,
and no key or token is in any message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from elbowroom.budget.rights import Rights
from elbowroom.budget.worst import named_beside
from elbowroom.errors import InvalidApiKey, ModelNotAllowed
from elbowroom.records import Model, Principal
from elbowroom_proxy.identity import JwtRow
from elbowroom_proxy.ports import Members, PublicKeys

# Headers (lower-case names) -> who sent them; raises an `ElbowroomError` for credentials that do not hold.
Identify = Callable[[Mapping[str, str]], Awaitable[Principal]]

OPEN = Principal()
_NEEDED = ["exp", "iss", "aud"]
_LONGEST = 16_384  # characters of a token


class Identity:
    """Looks every request up anew, so rights that change hold from the next one on."""

    def __init__(self, keys: Members, tokens: JwtRow | None = None, public: PublicKeys | None = None) -> None:
        """`public` has the keys of the issuer of `tokens`; both or neither."""
        self._keys = keys
        self._tokens = tokens
        self._public = public

    async def __call__(self, headers: Mapping[str, str]) -> Principal:
        """Raises `InvalidApiKey`, and `KeysUnavailable` where a token cannot be verified at the moment."""
        if self._tokens is None and not self._keys.closed:
            return OPEN
        scheme, _, sent = headers.get("authorization", "").partition(" ")
        sent = sent.strip()
        if scheme.lower() != "bearer" or not sent:
            raise InvalidApiKey("A key is needed: send it as `Authorization: Bearer`.")
        # Only the digest is compared, and it tells nothing of a key however long that takes.
        found = self._keys.find(hashlib.sha256(sent.encode("latin-1", "replace")).hexdigest())
        if found is None and self._public is not None and self._tokens is not None and sent.count(".") == 2:
            claimed = await _of_token(sent, self._tokens, self._public)
            found = None if claimed is None else self._keys.admitted(*claimed)
        if found is None:
            raise InvalidApiKey("That key is not valid.")
        return found


async def _of_token(token: str, row: JwtRow, public: PublicKeys) -> tuple[Principal, Rights] | None:
    """Whom a token stands for, and what it may by itself; None where it does not hold."""
    import jwt  # noqa: PLC0415 -- takes long to load, and most have keys alone

    try:
        kid = jwt.get_unverified_header(token).get("kid") if len(token) <= _LONGEST else None
        key = await public.find(kid) if isinstance(kid, str) else None
        if key is None or key.algorithm_name not in row.algorithms:
            return None
        claims = jwt.decode(
            token,
            key,
            algorithms=list(row.algorithms),
            audience=row.audience,
            issuer=row.issuer,
            leeway=row.leeway,
            options={"require": _NEEDED, "enforce_minimum_key_length": True},
        )
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    return _claimed(claims, row)


def _claimed(claims: Mapping[str, Any], row: JwtRow) -> tuple[Principal, Rights] | None:
    """The principal of these claims; None where one that is needed is missing or cannot be one."""
    named = row.claims
    subject, org, team = (claim(claims, name) for name in (named.subject, named.org, named.team))
    tenant = claim(claims, named.tenant) if named.tenant is not None else None
    groups = claim(claims, named.groups) if named.groups is not None else None
    clearance = claim(claims, named.clearance) if named.clearance is not None else None
    needed = (subject, org, team) if named.tenant is None else (subject, org, team, tenant)
    if not all(isinstance(one, str) and one for one in needed):
        return None
    # Without its groups nobody could tell which are denied a document.
    if named.groups is not None and not (isinstance(groups, list) and all(isinstance(one, str) for one in groups)):
        return None
    if not isinstance(clearance, str | None) or (row.tenants is not None and tenant not in row.tenants):
        return None
    if named.clearance is not None and clearance is None:
        clearance = ""  # it names none, which is the lowest: the team's is not lent to it
    own = Rights(
        tenant=tenant,
        groups=None if groups is None else tuple(groups),
        clearance=clearance,
        classes=row.classes,
        models=row.models,
        tools=row.tools,
        on_missing_label=row.on_missing_label,
    )
    return Principal(subject, org=org, team=team, keyed=True), own


def claim(claims: Mapping[str, Any], path: str) -> Any:
    """The claim of that name, else the one that lies there, as in `realm_access.roles`; None where there is none."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def check_model(principal: Principal, model: Model, params: Mapping[str, Any]) -> None:
    """Raises `ModelNotAllowed`, also where a gateway behind the model would be told whom else to ask: nobody could say
    whether that one is allowed, or which documents it accepts.
    """
    if principal.models is not None and model.name not in principal.models:
        raise ModelNotAllowed("This key may not use that model.", param="model")
    others = named_beside(params)
    if others is not None and not (principal.models is None and model.accepts is None):
        raise ModelNotAllowed(f"Other models may not be named here: {others} must be left out.", param=others)
