"""What elbowroom.yaml says of who may ask: an issuer of tokens, and the keys that access labels are signed with.

Knows: the shape of `jwt` and `label_keys`, and that every name in them must exist.
Does not know: keys (`directory`), requests, how a token is verified, or what a label permits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from elbowroom.budget.rights import Fault, Names, Rights, Written, check
from elbowroom.decide.signature import LabelKey
from elbowroom.read.policy import Config, OnMissing
from elbowroom_proxy.directory import LEFT

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
]  # fmt: skip
LABEL_SECRET = 16  # characters at least


class Claims(Config, frozen=True):
    """Which claims of a token say what: a name, or a path joined by dots. All of them must be there; `null` is none."""

    subject: str = "sub"
    org: str = "org"
    team: str = "team"
    tenant: str | None = "tenant"
    groups: str | None = "groups"
    clearance: str | None = "clearance"


class JwtRow(Config, frozen=True, kw_only=True):
    """`jwt`: whose tokens are taken beside keys. Times in seconds. What a token may is what its team may, and of that
    no more than is said here.
    """

    jwks: str  # a file beside elbowroom.yaml, or an address
    issuer: str
    audience: str
    algorithms: Annotated[tuple[Algorithm, ...], Meta(min_length=1)] = ("RS256", "ES256", "EdDSA")
    leeway: Annotated[float, Meta(ge=0, le=300)] = 30.0
    max_age: Annotated[float, Meta(gt=0, le=86_400)] = 600.0  # until the issuer's keys are read again
    tenants: Names | None = None  # tokens of others are refused; None: any tenant that the issuer names
    claims: Claims = Claims()
    classes: Names | None = None
    models: Names | None = None
    tools: Names | None = None
    on_missing_label: OnMissing | None = None


class LabelKeyRow(Config, frozen=True):
    """One entry of `label_keys`."""

    kid: Annotated[str, Meta(min_length=1)]
    tenant: Annotated[str, Meta(min_length=1)]
    secret: str


class Rows(Config, frozen=True):
    """What elbowroom.yaml says of all this."""

    jwt: JwtRow | None = None
    label_keys: tuple[LabelKeyRow, ...] = ()


class Identities(Struct, frozen=True):
    """Who may ask beside those who have a key, and whose labels are believed."""

    jwt: JwtRow | None = None
    label_keys: Mapping[str, LabelKey] = {}  # by `kid`


Resolve = Callable[[str, str], str]  # (path, word) -> what an `os.environ/NAME` stands for


def read(rows: Rows, written: Written, folder: Path, fault: Fault, resolve: Resolve) -> Identities:
    """The rows checked against the policy and the model list; files lie in `folder`.

    Raises what `fault` makes of a mistake.
    """
    jwt = rows.jwt
    if jwt is not None:
        own = Rights(classes=jwt.classes, models=jwt.models, tools=jwt.tools, on_missing_label=jwt.on_missing_label)
        check("jwt", own, written.policy, written.models, fault)
        if jwt.tenants is not None and jwt.claims.tenant is None:
            raise fault("jwt.tenants", "no claim names a tenant, so none could be one of these")
        if not jwt.jwks.startswith(("https://", "http://")):
            jwt = structs.replace(jwt, jwks=str(folder / jwt.jwks))
            if not Path(jwt.jwks).is_file():
                raise fault("jwt.jwks", "there is no such file")
        for name, policy in (("", written.policy), *written.policies.items()):
            if policy.documents == "upstream":
                raise fault("jwt", f"the policy{name and ' '}{name} {LEFT}")
    return Identities(jwt, dict(_label_keys(rows.label_keys, fault, resolve)))


def _label_keys(rows: Sequence[LabelKeyRow], fault: Fault, resolve: Resolve) -> Iterator[tuple[str, LabelKey]]:
    seen: set[str] = set()
    for i, row in enumerate(rows):
        at = f"label_keys[{i}]"
        secret = resolve(f"{at}.secret", row.secret)
        if len(secret) < LABEL_SECRET:
            raise fault(f"{at}.secret", f"must have at least {LABEL_SECRET} characters")
        if row.kid in seen:
            raise fault(f"{at}.kid", "there is another key of that kid")
        seen.add(row.kid)
        yield row.kid, LabelKey(row.tenant, secret.encode())
