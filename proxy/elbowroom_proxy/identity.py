"""What the operator wrote of who may ask: keys, an issuer of tokens, and the keys that access labels are signed with.

Knows: the shape of `keys`, `jwt` and `label_keys` in elbowroom.yaml, and that every name in them must exist.
Does not know: requests, how a token is verified, or what a label permits. No key stands here, only its SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from elbowroom.decide.signature import LabelKey
from elbowroom.errors import InvalidConfig
from elbowroom.read.catalog import Catalog
from elbowroom.read.policy import ASSUME, Config, OnMissing, Policy
from elbowroom.records import Principal

Names = tuple[str, ...]
Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
]  # fmt: skip
LABEL_SECRET = 16  # characters at least
_HEX = "0123456789abcdef"


class Rights(Config, frozen=True, kw_only=True):
    """What a key, or every token of an issuer, may ask for. What is left out is not limited."""

    classes: Names | None = None
    models: Names | None = None
    tools: Names | None = None
    on_missing_label: OnMissing = {}  # noqa: RUF012 - msgspec copies it for each instance


class KeyRow(Rights, frozen=True, kw_only=True):
    """One entry of `keys`."""

    name: Annotated[str, Meta(min_length=1)]  # the principal's, in traces and in `users` of labels
    sha256: str  # of the key, in hex
    tenant: Annotated[str, Meta(min_length=1)] | None = None
    groups: Names = ()
    clearance: str | None = None
    blocked: bool = False


class Claims(Config, frozen=True):
    """Which claims of a token say what: a name, or a path joined by dots. All of them must be there; `null` is none."""

    subject: str = "sub"
    tenant: str = "tenant"
    groups: str | None = "groups"
    clearance: str | None = "clearance"


class JwtRow(Rights, frozen=True, kw_only=True):
    """`jwt`: whose tokens are taken beside keys. Times in seconds."""

    jwks: str  # a file beside elbowroom.yaml, or an address
    issuer: str
    audience: str
    algorithms: Annotated[tuple[Algorithm, ...], Meta(min_length=1)] = ("RS256", "ES256", "EdDSA")
    leeway: Annotated[float, Meta(ge=0, le=300)] = 30.0
    max_age: Annotated[float, Meta(gt=0, le=86_400)] = 600.0  # until the issuer's keys are read again
    tenants: Names | None = None  # tokens of others are refused; None: any tenant that the issuer names
    claims: Claims = Claims()


class LabelKeyRow(Config, frozen=True):
    """One entry of `label_keys`."""

    kid: Annotated[str, Meta(min_length=1)]
    tenant: Annotated[str, Meta(min_length=1)]
    secret: str


class Rows(Config, frozen=True):
    """What elbowroom.yaml says of all this."""

    keys: tuple[KeyRow, ...] = ()
    jwt: JwtRow | None = None
    label_keys: tuple[LabelKeyRow, ...] = ()


class Identities(Struct, frozen=True):
    """Who may ask. Without keys and without an issuer everybody may."""

    keys: Mapping[str, Principal] = {}  # by SHA-256 of the key
    jwt: JwtRow | None = None
    label_keys: Mapping[str, LabelKey] = {}  # by `kid`
    closed: bool = False  # there are keys or an issuer


Fault = Callable[[str, str], InvalidConfig]  # (path, what) -> the error with file and line
Resolve = Callable[[str, str], str]  # (path, word) -> what an `os.environ/NAME` stands for


def read(rows: Rows, policy: Policy, catalog: Catalog, folder: Path, fault: Fault, resolve: Resolve) -> Identities:
    """The rows checked against each other, the policy and the model list; files lie in `folder`.

    Raises what `fault` makes of a mistake.
    """
    keys, jwt = rows.keys, rows.jwt
    found: dict[str, Principal] = {}
    names: set[str] = set()
    for i, row in enumerate(keys):
        at = f"keys[{i}]"
        digest = resolve(f"{at}.sha256", row.sha256).lower()
        if len(digest) != 64 or digest.strip(_HEX):
            raise fault(f"{at}.sha256", "must be 64 hexadecimal digits: the SHA-256 of the key, never the key")
        if digest in found or row.name in names:
            raise fault(at, "there is another key of that name or of that SHA-256")
        if row.tenant is not None and row.clearance is None:
            raise fault(at, f"a key with a tenant needs a clearance: one of {', '.join(policy.access.labels)}")
        _check(at, row, policy, catalog, fault, row.clearance)
        names.add(row.name)
        if not row.blocked:
            found[digest] = Principal(
                row.name, row.tenant, row.groups, row.clearance, row.classes, row.models, row.tools,
                keyed=True, on_missing_label=row.on_missing_label,
            )  # fmt: skip
    if jwt is not None:
        _check("jwt", jwt, policy, catalog, fault, None)
        if not jwt.jwks.startswith(("https://", "http://")):
            jwt = structs.replace(jwt, jwks=str(folder / jwt.jwks))
            if not Path(jwt.jwks).is_file():
                raise fault("jwt.jwks", "there is no such file")
    closed = bool(keys) or jwt is not None
    if closed and policy.documents == "upstream":
        raise fault("keys", "the policy leaves documents to the provider, so nobody's access to them could be checked")
    return Identities(found, jwt, dict(_label_keys(rows.label_keys, fault, resolve)), closed)


def check_labels(path: str, labels: Names | None, policy: Policy, fault: Fault) -> None:
    """Raises where one of them is none of the policy's."""
    for label in labels or ():
        if label not in policy.access.labels:
            raise fault(path, f"the policy has no label {label}; it has {', '.join(policy.access.labels)}")


def _check(at: str, row: Rights, policy: Policy, catalog: Catalog, fault: Fault, clearance: str | None) -> None:
    if clearance is not None:
        check_labels(f"{at}.clearance", (clearance,), policy, fault)
    for kind, rule in row.on_missing_label.items():
        if rule.startswith(ASSUME):
            check_labels(f"{at}.on_missing_label.{kind}", (rule.removeprefix(ASSUME),), policy, fault)
    for name in row.classes or ():
        if not policy.has_class(name):
            raise fault(f"{at}.classes", f"the policy has no class {name}")
    for name in row.models or ():
        if name not in catalog.by_name:
            raise fault(f"{at}.models", f"there is no model {name}")


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
