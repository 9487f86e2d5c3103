"""keys.yaml becomes who may ask: each key within its team, every mistake with a line, no key anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from elbowroom.budget import orgs
from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.orgs import Orgs, OrgsFile
from elbowroom.budget.rights import Rights, Written
from elbowroom.errors import InvalidApiKey, InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Policy, QueryClass
from elbowroom.records import Mode, Principal
from elbowroom_proxy.directory import Directory, Holder, kept, parsed, read
from tests.holders import keys_text, orgs_text, row

POLICY = Policy(classes=(QueryClass(name="how_to"),))
WRITTEN = Written(POLICY, {"careful": POLICY}, {"m", "n"})
BOT = row("bot", "sk-eb-bot")
DIGEST = BOT["secrets"][0]["sha256"]


def within(**team: Any) -> Orgs:
    return orgs.read(yaml.read(orgs_text(**team), "orgs.yaml", OrgsFile), WRITTEN)


def made(*rows: dict[str, Any], **team: Any) -> Directory:
    return read(keys_text(*rows).encode(), "keys.yaml", within(**team), WRITTEN)


def test_a_key_narrows_what_its_team_may():
    found = made(
        row(
            "bot", "sk-eb-bot", models=["m"], classes=["how_to"], tools=["find"], policy="careful", mode="shadow",
            output_cap=90, rpm_limit=3, on_missing_label={"faq": "assume:public", "default": "deny"},
        ),
        tenant="acme", groups=["support"], clearance="internal", models=["m", "n"], max_budget=2.5,
    )  # fmt: skip
    bot = Principal(
        "bot", "acme", ("support",), "internal", ("how_to",), ("m",), ("find",), keyed=True,
        on_missing_label={"faq": "assume:public", "default": "deny"}, org="acme", team="support", policy="careful",
        mode=Mode.SHADOW, output_cap=90, key="bot",
    )  # fmt: skip
    assert found.holders == {DIGEST: Holder(bot)}
    assert found.account(bot) == Account(
        "acme",
        "UTC",
        (
            Entity("org", "acme", Limits()),
            Entity("team", "acme/support", Limits(micro_usd=2_500_000)),
            Entity("key", "acme/support/bot", Limits(rpm=3)),
        ),
    )


def test_a_blocked_key_is_nobodys_and_nothing_is_open():
    found = made({**BOT, "blocked": True})
    assert (found.holders, found.closed, [one.name for one in found.rows]) == ({}, True, ["bot"])
    assert made().closed
    assert not read(None, "keys.yaml", Orgs(), WRITTEN).closed
    assert not Directory().closed


def test_two_secrets_are_of_one_holder_and_the_replaced_one_ends():
    old = {"sha256": "ab" * 32, "prefix": "abcdef", "until": "2026-12-01T00:00:00Z"}
    found = made({**BOT, "secrets": [old, *BOT["secrets"]]})
    assert found.holders[DIGEST].principal == found.holders["ab" * 32].principal
    assert (found.holders[DIGEST].until, found.holders["ab" * 32].until) == (None, 1_796_083_200.0)


@pytest.mark.parametrize("role", ["auditor", "admin"])
def test_who_reads_or_administers_needs_no_team_and_asks_no_model_without_one(role: str):
    loose = {**BOT, "org": None, "team": None, "role": role}
    principal = made({**loose, "tenant": "acme", "clearance": "public"}).holders[DIGEST].principal
    assert (principal.role, principal.models, principal.tenant, principal.org) == (role, (), "acme", None)
    inside = made({**loose, "org": "acme"}).holders[DIGEST].principal
    assert (inside.org, inside.team, inside.models) == ("acme", None, ())
    found = made({**BOT, "role": role})
    assert found.holders[DIGEST].principal.models is None
    assert found.account(found.holders[DIGEST].principal) is not None
    assert found.account(principal) is found.account(inside) is None


def test_nobody_is_charged_in_open_mode():
    assert Directory().account(Principal()) is None


def test_who_has_just_gone_is_nobody_and_not_free():
    bot = made(BOT).holders[DIGEST].principal
    ann = Principal("ann", org="acme", team="support", keyed=True)
    assert made(BOT).account(ann) == within().teams["acme", "support"].account
    for found in (made(), Directory()):
        with pytest.raises(InvalidApiKey):
            found.account(bot)
    with pytest.raises(InvalidApiKey):
        Directory().account(ann)


def test_a_token_named_like_a_key_is_not_charged_to_it():
    bot = Principal("bot", org="acme", team="support", keyed=True)
    account = made({**BOT, "rpm_limit": 1}).account(bot)
    assert account is not None
    assert [one.kind for one in account.entities] == ["org", "team"]


def test_a_token_may_what_its_team_and_itself_may():
    found = made(clearance="public", models=["m"], policy="careful", output_cap=7)
    ann = Principal("ann", org="acme", team="support", keyed=True)
    own = Rights(tenant="acme", groups=("hr",), clearance="restricted", models=("n", "m"), tools=("t",))
    assert found.admitted(ann, own) == Principal(
        "ann", "acme", ("hr",), "public", None, ("m",), ("t",), keyed=True, org="acme", team="support",
        policy="careful", output_cap=7,
    )  # fmt: skip
    assert found.admitted(ann, Rights(clearance="")) is not None
    assert found.admitted(ann, Rights(clearance="")).clearance is None  # type: ignore[union-attr] # asserted above


def test_a_token_of_no_team_or_of_another_tenant_is_nobodys():
    found = made(tenant="acme", clearance="public", groups=["support"])
    ann = Principal("ann", org="acme", team="support", keyed=True)
    assert found.admitted(ann, Rights()) is not None
    assert found.admitted(ann, Rights(tenant="other")) is None
    assert found.admitted(ann, Rights(groups=("hr",))) is None
    for org, team in (("acme", None), ("acme", "none"), ("none", "support"), (None, None)):
        assert found.admitted(Principal("ann", org=org, team=team), Rights()) is None
    assert Directory(within()).admitted(ann, Rights()) is None


MISTAKES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({**BOT, "key": "sk-secret"}, {}, "there is no such key (keys[1].key)"),
    ({**BOT, "secrets": [{"sha256": "sk-secret"}]}, {}, "(keys[1].secrets[0].sha256)"),
    ({**BOT, "secrets": [{"sha256": "AB" * 32}]}, {}, "(keys[1].secrets[0].sha256)"),
    ({**BOT, "secrets": [{"sha256": "ab" * 32, "until": "2026-12-01T00:00:00"}]}, {}, "timezone"),
    ({**BOT, "secrets": [{"sha256": "ab" * 32, "prefix": "sk-secret"}]}, {}, "length <= 6"),
    ({**BOT, "name": "other"}, {}, "another key of that name or of that SHA-256 (keys[1])"),
    (row("ann", "sk-eb-2", team="none"), {}, "there is no team acme/none (keys[1].team)"),
    (row("ann", "sk-eb-2", org=None), {}, "say whose (keys[1].team)"),
    (row("ann", "sk-eb-2", team=None), {}, "belongs to an organisation and a team (keys[1])"),
    (row("ann", "sk-eb-2", team=None, org="none", role="admin"), {}, "no organisation none (keys[1].org)"),
    (row("ann", "sk-eb-2", team=None, role="admin", rpm_limit=1), {}, "has no limits (keys[1])"),
    (row("ann", "sk-eb-2", team=None, role="admin", models=["m"]), {}, "has no limits (keys[1])"),
    (row("ann", "sk-eb-2", role="root"), {}, "(keys[1].role)"),
    (row("ann", "sk-eb-2", models=["x"]), {}, "there is no model x (keys[1].models)"),
    (row("ann", "sk-eb-2", models=["n"]), {"models": ["m"]}, "does not have n (keys[1].models)"),
    (row("ann", "sk-eb-2", policy="x"), {}, "there is no policy x; there are careful (keys[1].policy)"),
    (row("ann", "sk-eb-2", tenant="t"), {}, "needs a clearance: one of public"),
    (row("ann", "sk-eb-2", max_budget=0.5000001), {}, "six digits"),
]


@pytest.mark.parametrize(("wrong", "team", "what"), MISTAKES)
def test_a_mistake_has_a_line_and_repeats_no_key(wrong: dict[str, Any], team: dict[str, Any], what: str):
    text = '# a comment\n{"version": 1, "keys": [\n' + ",\n".join(json.dumps(one) for one in (BOT, wrong)) + "\n]}\n"
    with pytest.raises(InvalidConfig, match=re.escape(what)) as error:
        read(text.encode(), "keys.yaml", within(**team), WRITTEN)
    assert error.value.message.startswith("keys.yaml:4: ")
    assert "sk-secret" not in error.value.message


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"version: 2\n", "version"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"keys": [', "expected"),
        (b'{"version": 1, "keys": []} more', "expected"),
    ],
)
def test_a_file_that_is_none_is_told(text: bytes, what: str):
    with pytest.raises(InvalidConfig, match=what) as error:
        read(text, "keys.yaml", Orgs(), WRITTEN)
    assert error.value.message.startswith("keys.yaml:1: ")


def test_a_file_that_somebody_wrote_by_hand_holds_as_well():
    text = f"version: 1\nkeys:\n  - name: bot\n    org: acme\n    team: support\n    secrets: [{{sha256: {DIGEST}}}]\n"
    assert read(text.encode(), "keys.yaml", within(), WRITTEN).holders == made(BOT).holders
    assert parsed(b"", "keys.yaml").keys == ()


def test_documents_that_nobody_reads_cannot_be_checked():
    for written in (
        Written(Policy(documents="upstream"), {}, {"m"}),
        Written(Policy(), {"x": Policy(documents="upstream")}, {"m"}),
    ):
        with pytest.raises(InvalidConfig, match="nobody's access"):
            read(keys_text(BOT).encode(), "keys.yaml", within(), written)


def test_a_file_is_there_or_not_or_cannot_be_read(tmp_path: Path):
    assert kept(tmp_path / "none") is None
    (tmp_path / "keys.yaml").write_bytes(b"x")
    assert kept(tmp_path / "keys.yaml") == b"x"
    with pytest.raises(InvalidConfig, match=":1: "):
        kept(tmp_path)
