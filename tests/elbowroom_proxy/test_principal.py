"""Who asks is said by a key or a token that holds, and by nothing else."""

from __future__ import annotations

import base64
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import structs

from elbowroom.budget import orgs
from elbowroom.budget.orgs import OrgsFile
from elbowroom.budget.rights import Written
from elbowroom.errors import InvalidApiKey, KeysUnavailable, ModelNotAllowed
from elbowroom.read.policy import Policy
from elbowroom.read.yaml import read as read_yaml
from elbowroom.records import Principal
from elbowroom_proxy import directory
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.identity import Claims, JwtRow
from elbowroom_proxy.principal import Identity, check_model, claim
from elbowroom_proxy.stores.jwks import Jwks
from elbowroom_proxy.stores.keys import WatchedKeys
from tests.holders import ORG, TEAM, keys_text, orgs_text, row
from tests.issuer import AUDIENCE, ISSUER, Issuer
from tests.walk import MODEL

KEY = "sk-test-0123456789abcdef"
ROWS = (row("bob", KEY, tenant="acme", clearance="public"),)
WRITTEN = Written(Policy(), {}, {"m"})
BOB = Principal("bob", "acme", clearance="public", keyed=True, org=ORG, team=TEAM, key="bob")
ROW = JwtRow(jwks="jwks", issuer=ISSUER, audience=AUDIENCE, models=("m",))
IDP = Issuer()


class Published:
    """The issuer's keys, without a server."""

    async def find(self, kid: str) -> jwt.PyJWK | None:
        return jwt.PyJWK(IDP.jwk) if kid == IDP.kid else None


def keys(*rows: dict[str, Any], **team: Any) -> WatchedKeys:
    found = orgs.read(read_yaml(orgs_text(**team), "orgs.yaml", OrgsFile), WRITTEN)
    return WatchedKeys(directory.read(keys_text(*rows).encode(), "keys.yaml", found, WRITTEN))


def identity(row: JwtRow | None = ROW, **team: Any) -> Identity:
    return Identity(keys(*ROWS, **team), row, None if row is None else Published())


async def asked(sent: str, row: JwtRow | None = ROW, scheme: str = "Bearer") -> Principal:
    return await identity(row)({"authorization": f"{scheme} {sent}"})


async def refused(sent: str, row: JwtRow | None = ROW) -> None:
    with pytest.raises(InvalidApiKey) as error:
        await asked(sent, row)
    assert error.value.message == "That key is not valid."
    assert error.value.__cause__ is error.value.__context__ is None


async def test_without_keys_everybody_is_the_same_open_principal():
    found = Identity(WatchedKeys(Directory()))
    assert await found({}) == Principal()
    assert await found({"authorization": "Bearer x", "x-tenant": "acme"}) == Principal()
    for closed in (Identity(keys()), Identity(WatchedKeys(Directory()), ROW, Published())):
        with pytest.raises(InvalidApiKey):
            await closed({})


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_a_key_says_who_asks(scheme: str):
    assert await asked(KEY, scheme=scheme) == BOB
    assert await asked(KEY + " ", row=None) == BOB


@pytest.mark.parametrize("headers", [{}, {"authorization": ""}, {"authorization": "Bearer "}, {"authorization": KEY}])
async def test_without_a_key_nobody_is_anybody(headers: dict[str, str]):
    with pytest.raises(InvalidApiKey, match="A key is needed"):
        await identity()(headers)
    with pytest.raises(InvalidApiKey):
        await identity()({**headers, "x-api-key": KEY, "cookie": KEY, "authorization": f"Basic {KEY}"})


@pytest.mark.parametrize(
    "sent", ["sk-test", KEY + "0", KEY.upper(), "ü\x80", "a.b", "a.b.c", "..", "x" * 20_000 + ".b.c"]
)
async def test_another_key_is_nobodys(sent: str):
    await refused(sent)
    await refused(sent, None)


# --- tokens ---------------------------------------------------------------------------------------------------------


async def test_a_token_says_who_asks():
    assert await asked(IDP.token()) == Principal(
        "ann", "acme", ("support",), "internal", models=("m",), keyed=True, org=ORG, team=TEAM
    )
    assert (await asked(IDP.token(aud=["other", AUDIENCE], groups=[]))).groups == ()
    await refused(IDP.token(), None)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None}, {"iss": None}, {"aud": None}, {"sub": None}, {"tenant": None}, {"groups": None},
        {"org": None}, {"org": "other"}, {"org": ""}, {"org": ["acme"]}, {"team": None}, {"team": "other"}, {"team": 7},
        {"exp": 1}, {"exp": "soon"}, {"iss": "https://id.example/"}, {"aud": "other"}, {"nbf": 9_999_999_999},
        {"sub": ""}, {"tenant": ""}, {"tenant": 7}, {"groups": "support"}, {"groups": [1]}, {"clearance": ["internal"]},
    ],
)  # fmt: skip
async def test_a_claim_that_is_missing_or_wrong_makes_it_nobodys(claims: dict[str, Any]):
    await refused(IDP.token(**claims))


async def test_clocks_may_differ_a_little():
    assert (await asked(IDP.token(exp=time.time() - 20))).subject == "ann"
    await refused(IDP.token(exp=time.time() - 20), structs.replace(ROW, leeway=5.0))


async def test_only_the_issuers_key_of_that_id_counts():
    await refused(Issuer().token())
    await refused(IDP.token(headers={"kid": "k2"}))
    whole = IDP.token()
    await refused(whole[:-8] + "AAAAAAAA")
    head, body, signature = whole.split(".")
    other = jwt.utils.base64url_encode(
        json.dumps({**jwt.decode(whole, options={"verify_signature": False}), "sub": "eve"}).encode()
    )
    await refused(f"{head}.{other.decode()}.{signature}")
    await refused(f"{head}.{body}.")


def crafted(head: dict[str, Any], sign: Any = lambda _: b"") -> str:
    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    claims = jwt.decode(IDP.token(), options={"verify_signature": False})
    said = f"{part(json.dumps({'kid': IDP.kid, **head}).encode())}.{part(json.dumps(claims).encode())}"
    return f"{said}.{part(sign(said.encode()))}"


async def test_no_other_algorithm_passes():
    public = IDP.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    await refused(crafted({"alg": "none"}))
    await refused(crafted({"alg": "HS256"}, lambda said: hmac.digest(public, said, "sha256")))
    await refused(crafted({}))
    for kid in (7, None):
        await refused(crafted({"alg": "ES256", "kid": kid}))
    await refused(crafted({"alg": "ES256", "crit": ["x"], "x": 1}))
    await refused(IDP.token(), structs.replace(ROW, algorithms=("RS256",)))


async def test_a_header_of_nothing_but_brackets_is_nobodys():
    deep = base64.urlsafe_b64encode(b"[" * 9_000).decode()
    await refused(f"{deep}.e30.e30")
    await refused(f"{base64.urlsafe_b64encode(b'[]').decode().rstrip('=')}.e30.e30")


async def test_where_the_issuers_keys_are_not_there_nobody_can_say(tmp_path: Path):
    found = Identity(keys(), ROW, Jwks(str(tmp_path / "none"), max_age=600))
    with pytest.raises(KeysUnavailable):
        await found({"authorization": f"Bearer {IDP.token()}"})
    with pytest.raises(InvalidApiKey):
        await found({"authorization": f"Bearer {KEY}"})


async def test_other_claims_may_say_it():
    row = structs.replace(
        ROW, claims=Claims(subject="email", tenant="https://x.example/org", groups="realm.roles", clearance=None)
    )
    claims: dict[str, Any] = {"email": "a@x", "https://x.example/org": "acme", "realm": {"roles": ["r"]}}
    found = await asked(IDP.token(sub=None, tenant=None, groups=None, **claims), row)
    assert found == Principal("a@x", "acme", ("r",), None, models=("m",), keyed=True, org=ORG, team=TEAM)
    none = structs.replace(ROW, claims=Claims(groups=None))
    assert (await asked(IDP.token(groups=None), none)).groups == ()


async def test_a_token_of_another_tenant_is_nobodys():
    row = structs.replace(ROW, tenants=("acme",))
    assert (await asked(IDP.token(), row)).tenant == "acme"
    await refused(IDP.token(tenant="other"), row)


async def test_a_team_narrows_what_a_token_may():
    found = identity(clearance="public", models=["m"], tenant="acme", output_cap=5)
    ann = await found({"authorization": f"Bearer {IDP.token(clearance='restricted')}"})
    assert (ann.clearance, ann.models, ann.output_cap, ann.key) == ("public", ("m",), 5, None)
    # A token without the claim sees nothing; where nobody sends one, the team's clearance is its tokens'.
    assert (await found({"authorization": f"Bearer {IDP.token(clearance=None)}"})).clearance is None
    nobody = structs.replace(ROW, claims=Claims(clearance=None, tenant=None, groups=None))
    lent = await identity(nobody, clearance="public", tenant="acme", groups=["support"])(
        {"authorization": f"Bearer {IDP.token(clearance=None, tenant=None, groups=None)}"}
    )
    assert (lent.clearance, lent.tenant, lent.groups) == ("public", "acme", ("support",))
    for claims in ({"tenant": "other"}, {"groups": ["hr"]}):
        with pytest.raises(InvalidApiKey):
            await identity(tenant="acme", groups=["support"], clearance="public")(
                {"authorization": f"Bearer {IDP.token(**claims)}"}
            )


def test_a_claim_by_its_path():
    claims = {"a": {"b": 1}, "a.b": 2, "c": 3}
    assert (claim(claims, "a.b"), claim(claims, "c"), claim(claims, "c.d"), claim(claims, "x.y")) == (2, 3, None, None)
    assert claim({"a": {"b": 1}}, "a.b") == 1


def test_a_key_may_be_for_some_models_only():
    check_model(Principal(), MODEL, {})
    check_model(Principal(models=("m",)), MODEL, {"models": None})
    with pytest.raises(ModelNotAllowed):
        check_model(Principal(models=()), MODEL, {})


@pytest.mark.parametrize("name", ["models", "fallbacks"])
def test_nobody_else_is_named_where_it_matters_who_answers(name: str):
    params = {name: ["another"]}
    check_model(Principal(), MODEL, params)
    for principal, model in (
        (Principal(models=("m",)), MODEL),
        (Principal(), structs.replace(MODEL, accepts=("public",))),
    ):
        with pytest.raises(ModelNotAllowed) as caught:
            check_model(principal, model, params)
        assert caught.value.param == name
