"""orgs.yaml becomes limits and rights, exactly as it says, or the mistake has a line."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.budget.limits import Account, Entity, Limits
from elbowroom.budget.orgs import Level, Orgs, OrgsFile, below, limits, read
from elbowroom.budget.rights import Rights, Written
from elbowroom.errors import InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Policy

WRITTEN = Written(Policy(), {}, {"m"})
TEXT = """\
orgs:
  - name: acme
    timezone: Europe/Berlin
    tenant: acme
    clearance: internal
    max_budget: 500.000001
    budget_duration: 1d
    teams:
      - name: support
        rpm_limit: 0
        tpm_limit: 10
        max_parallel_requests: 3
        max_tokens: 7
        models: [m]
      - {name: research, budget_duration: 30d, max_budget: null}
  - {name: Zoo.1, budget_duration: 1h, teams: [{name: support}]}
"""


def made(text: str) -> Orgs:
    return read(yaml.read(text, "orgs.yaml", OrgsFile), WRITTEN)


def fault(path: str, what: str) -> InvalidConfig:
    return InvalidConfig(f"f:1: {what} ({path})")


def test_each_level_has_limits_of_its_own_and_inherits_rights():
    found = made(TEXT)
    org = Entity("org", "acme", Limits(micro_usd=500_000_001, period="1d"))
    support = Entity("team", "acme/support", Limits(rpm=0, tpm=10, parallel=3, tokens=7, period="1d"))
    one = found.find("acme", "support")
    assert one is not None
    assert one.account == Account("acme", "Europe/Berlin", (org, support))
    assert one.rights == Rights(tenant="acme", clearance="internal", models=("m",))
    assert found.teams["acme", "research"].account.entities[1].limits == Limits(period="1mo")
    assert found.teams["Zoo.1", "support"].account == Account(
        "Zoo.1",
        "UTC",
        (Entity("org", "Zoo.1", Limits(period="1h")), Entity("team", "Zoo.1/support", Limits(period="1h"))),
    )


def test_a_team_is_found_by_both_names():
    found = made(TEXT)
    assert found.find("acme", None) is found.orgs["acme"]
    for org, team in ((None, None), (None, "support"), ("acme", "none"), ("none", None), ("none", "support")):
        assert found.find(org, team) is None
    assert made("") == made("orgs: []") == Orgs()


def test_a_key_is_one_level_more():
    unit = below("keys[0]", made(TEXT).teams["acme", "support"], "key", "bot", Level(rpm_limit=5), WRITTEN, fault)
    assert unit.account.entities[2] == Entity("key", "acme/support/bot", Limits(rpm=5, period="1d"))
    assert unit.account.timezone == "Europe/Berlin"
    assert unit.rights.models == ("m",)
    with pytest.raises(InvalidConfig, match=re.escape("sees no more than internal (keys[0].clearance)")):
        below("keys[0]", unit, "key", "bot", Level(clearance="restricted"), WRITTEN, fault)


@given(st.integers(0, 10**14))
def test_money_is_exact(micro_usd: int):
    usd = float(Decimal(micro_usd) / 10**6)
    assert limits("at", Level(max_budget=usd), "1mo", fault).micro_usd == micro_usd


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("orgs:\n  - {name: a, budget: 1}\n", 2, "there is no such key (orgs[0].budget)"),
        ("orgs:\n  - name: a\n    teams:\n      - {name: t}\n      - {name: u, keys: []}\n", 5, "no such key"),
        ("teams: []\n", 1, "no such key"),
        ("orgs:\n  - name: a\n    rpm_limit: -1\n", 3, ">= 0"),
        ("orgs:\n  - name: a\n    max_budget: -0.01\n", 3, ">= 0.0"),
        ("orgs:\n  - name: a\n    max_budget: .inf\n", 3, "no plain value"),
        ("orgs:\n  - name: a\n    max_budget: .nan\n", 3, "no plain value"),
        ("orgs:\n  - name: a\n    max_budget: 1000000000\n", 3, "<= 100000000"),
        ("orgs:\n  - name: a\n    max_budget: 0.0000001\n", 3, "six digits"),
        ("orgs:\n  - name: a\n    max_budget: '5'\n", 3, "expected `float"),
        ("orgs:\n  - name: a\n    max_tokens: 1.5\n", 3, "expected `int"),
        ("orgs:\n  - name: a\n    max_tokens: 1000000000000000\n", 3, "<= 100000000000000"),
        ("orgs:\n  - name: a\n    budget_duration: 7d\n", 3, "7d"),
        ("orgs:\n  - name: a\n    output_cap: 0\n", 3, ">= 1"),
        ("orgs:\n  - {name: 'a/b'}\n", 2, "regex"),
        ("orgs:\n  - {name: '{a}'}\n", 2, "regex"),
        ('orgs:\n  - {name: "a\\n"}\n', 2, "regex"),
        ("orgs:\n  - {name: a}\n  - {name: a}\n", 3, "another organisation a"),
        ("orgs:\n  - name: a\n    teams:\n      - {name: t}\n      - {name: t}\n", 5, "another team t"),
        ("orgs:\n  - name: a\n    teams:\n      - {name: t, models: [x]}\n", 4, "no model x"),
        ("orgs:\n  - name: a\n    tenant: x\n    teams:\n      - {name: t, tenant: y}\n", 5, "the tenant x"),
    ],
)
def test_a_mistake_has_a_line(text: str, line: int, what: str):
    with pytest.raises(InvalidConfig, match=re.escape(what)) as error:
        made(text)
    assert error.value.message.startswith(f"orgs.yaml:{line}: ")
