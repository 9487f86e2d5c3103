"""Who may ask: keys.yaml within the organisations, as one value that is swapped whole.

Knows: the shape of keys.yaml, that a key narrows what its team may, and whom each principal's requests are charged to.
Does not know: any key, only its SHA-256; when the file changes (`stores.keys`); how a token is verified.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, structs

from elbowroom.budget.limits import Account, Limits
from elbowroom.budget.orgs import Level, Name, Orgs, Unit, below, limits
from elbowroom.budget.rights import Fault, Rights, Widened, Written, both, resolved
from elbowroom.errors import InvalidApiKey, InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Config
from elbowroom.records import Principal
from elbowroom.records.request import Role

LEFT = "leaves documents to the provider, so nobody's access to them could be checked"
Moment = Annotated[dt.datetime, Meta(tz=True)]


class SecretRow(Config, frozen=True, omit_defaults=True):
    """What is kept of a key that was given out."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    prefix: Annotated[str, Meta(max_length=6)] = ""  # its first characters behind `sk-eb-`, to tell keys apart by
    made: Moment | None = None
    until: Moment | None = None  # it was replaced, and holds until then


class KeyRow(Level, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of `keys`: one holder, whatever key it has at the moment."""

    name: Name  # the principal's, in traces and in `users` of labels
    org: str | None = None
    team: str | None = None
    role: Role = "user"
    blocked: bool = False
    secrets: tuple[SecretRow, ...] = ()


class KeysFile(Config, frozen=True):
    """keys.yaml, whole."""

    version: Literal[1] = 1
    keys: tuple[KeyRow, ...] = ()


class Holder(Struct, frozen=True):
    """Whose one key is."""

    principal: Principal
    until: float | None = None  # seconds since 1970; None: until it is blocked


class Directory(Struct, frozen=True):
    """Everybody who may ask by a key, and every team that a token may name."""

    orgs: Orgs = Orgs()
    written: Written | None = None  # what there is to be named
    holders: Mapping[str, Holder] = {}  # by SHA-256 of the key
    units: Mapping[str, Unit] = {}  # what each key of a team may and is limited to, by its name
    rows: tuple[KeyRow, ...] = ()
    closed: bool = False  # there is a file of keys, be they all blocked: nobody is let in without one
    digest: str = ""  # SHA-256 of the file, in hex

    @property
    def accounts(self) -> Iterator[Account]:
        """Everybody's who could be charged: of each organisation, each team, each key."""
        for units in (self.orgs.orgs, self.orgs.teams, self.units):
            for unit in units.values():
                yield unit.account

    def account(self, principal: Principal) -> Account | None:
        """Whom its requests are charged to; None: nobody, as in open mode. Raises `InvalidApiKey` where its team or its
        key has gone since it was looked up.
        """
        if principal.team is None:
            return None
        unit = self.orgs.find(principal.org, principal.team) if principal.key is None else self.units.get(principal.key)
        if unit is None:
            raise InvalidApiKey("That key is not valid.")
        return unit.account

    def admitted(self, principal: Principal, own: Rights) -> Principal | None:
        """A token's principal with what its team lets it do of `own`; None where there is no such team, or where the
        team is of another tenant or has other groups.
        """
        unit = self.orgs.find(principal.org, principal.team) if principal.team is not None else None
        if unit is None or self.written is None:
            return None
        labels = self.written.labels(own.policy or unit.rights.policy)
        try:
            return _with(principal, both(unit.rights, own, labels))
        except Widened:
            return None


def read(text: bytes | None, file: str, orgs: Orgs, written: Written) -> Directory:
    """keys.yaml's bytes, None where there is no such file. Raises `InvalidConfig` with file and line."""
    if text is None:
        return Directory(orgs, written)
    rows = parsed(text, file).keys
    fault = faults(text, file)
    if "upstream" in {policy.documents for policy in (written.policy, *written.policies.values())}:
        raise fault("keys", f"a policy {LEFT}")
    holders: dict[str, Holder] = {}
    units: dict[str, Unit] = {}
    names: set[str] = set()
    digests: set[str] = set()
    for i, row in enumerate(rows):
        at = f"keys[{i}]"
        if row.name in names or not digests.isdisjoint(one.sha256 for one in row.secrets):
            raise fault(at, "there is another key of that name or of that SHA-256")
        names.add(row.name)
        digests.update(one.sha256 for one in row.secrets)
        if row.team is None:
            rights = _reader(at, row, orgs, written, fault)
        else:
            above = orgs.find(row.org, row.team)
            if above is None:
                what = f"there is no team {row.org}/{row.team}" if row.org else "a team is an organisation's: say whose"
                raise fault(f"{at}.team", what)
            unit = units[row.name] = below(at, above, "key", row.name, row, written, fault)
            rights = unit.rights
        if rights.tenant is not None and rights.clearance is None:
            labels = ", ".join(written.labels(rights.policy))
            raise fault(at, f"a key with a tenant needs a clearance: one of {labels}")
        principal = _with(
            Principal(row.name, org=row.org, team=row.team, role=row.role, keyed=True, key=row.name), rights
        )
        for secret in () if row.blocked else row.secrets:
            holders[secret.sha256] = Holder(principal, None if secret.until is None else secret.until.timestamp())
    return Directory(orgs, written, holders, units, rows, closed=True, digest=hashlib.sha256(text).hexdigest())


def kept(file: Path) -> bytes | None:
    """What it holds; None where it is not there. Raises `InvalidConfig` where it cannot be read."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidConfig(f"{file}:1: {error.strerror or 'cannot be read'}") from error


def parsed(text: bytes, file: str) -> KeysFile:
    """The rows alone, nothing of them checked against anything else. Raises `InvalidConfig` with file and line."""
    try:
        # What the command writes is JSON below a line of comment: thousands of keys in milliseconds, and not seconds.
        return msgspec.json.decode(text[text.index(b"{") :], type=KeysFile)
    except (msgspec.DecodeError, ValueError):
        return yaml.load(_utf8(text, file), file, KeysFile)


def _reader(at: str, row: KeyRow, orgs: Orgs, written: Written, fault: Fault) -> Rights:
    """Of a key without a team. There is nobody to charge, so it reads and administers, and asks no model."""
    if row.role == "user":
        raise fault(at, "who asks models belongs to an organisation and a team")
    if limits(at, row, "1mo", fault) != Limits() or row.models:
        raise fault(at, "a key without a team asks no models, so it has no limits")
    org = orgs.find(row.org, None)
    if row.org is not None and org is None:
        raise fault(f"{at}.org", f"there is no organisation {row.org}")
    return structs.replace(resolved(at, Rights() if org is None else org.rights, row, written, fault), models=())


def _with(principal: Principal, rights: Rights) -> Principal:
    return structs.replace(
        principal,
        tenant=rights.tenant,
        groups=rights.groups or (),
        clearance=rights.clearance or None,
        classes=rights.classes,
        models=rights.models,
        tools=rights.tools,
        on_missing_label=rights.on_missing_label or {},
        policy=rights.policy,
        mode=rights.mode,
        output_cap=rights.output_cap,
    )


def faults(text: bytes, file: str) -> Fault:
    """How a mistake in that text is told. Its line is looked for only where there is something to say about it."""
    return lambda path, what: yaml.read(_utf8(text, file), file, KeysFile).fault(path, what)


def _utf8(text: bytes, file: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise InvalidConfig(f"{file}:1: not UTF-8 text") from None
