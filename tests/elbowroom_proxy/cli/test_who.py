"""What organisations, teams and keys may is said in words, and a limit that nothing fits into has a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from elbowroom_proxy import settings
from elbowroom_proxy.cli import who
from elbowroom_proxy.settings import Settings
from tests.holders import keys_text, row

CONFIG = """\
model_list:
  - {model_name: m, litellm_params: {model: gpt-4o}}
  - {model_name: n, litellm_params: {model: gpt-4o-mini}}
general_settings: {ledger: {volatile: true}, policies: {careful: policy.yaml}}
"""


def made(folder: Path, orgs: str, *rows: dict[str, Any]) -> Settings:
    (folder / "elbowroom.yaml").write_text(CONFIG)
    (folder / "policy.yaml").write_text("answer: {min_output_tokens: 16, output_cap: 50}\n")
    (folder / "orgs.yaml").write_text(orgs)
    if rows:
        (folder / "keys.yaml").write_text(keys_text(*rows).replace('{"name"', '\n{"name"'))
    return settings.load(folder / "elbowroom.yaml", environ={})


WHOLE = """\
orgs:
  - name: acme
    timezone: Europe/Berlin
    tenant: acme
    clearance: internal
    max_budget: 1500.5
    teams:
      - name: support
        rpm_limit: 1000
        tpm_limit: 200000
        max_parallel_requests: 3
        max_tokens: 10000000
        budget_duration: 1d
        models: [m]
        classes: []
        tools: [find, mail]
        groups: [a, b]
        on_missing_label: {default: deny}
        policy: careful
        mode: shadow
        output_cap: 1000
"""


def test_each_level_is_said_in_words(tmp_path: Path):
    rows = (
        row("bot", "sk-eb-1", max_budget=0, budget_duration="1h"),
        row("ann", "sk-eb-2", blocked=True, role="admin", output_cap=7),
        row("eve", "sk-eb-3", org=None, team=None, role="auditor"),
        row("joe", "sk-eb-4", team=None, role="auditor"),
    )
    limits = "1,000 requests a minute; 200,000 tokens a minute; 3 requests at once; 10,000,000 tokens a day"
    rights = (
        "models m; classes none; tools find, mail; tenant acme; groups a, b; cleared up to internal; "
        "without a label, default: deny; policy careful; mode shadow; "
        "answers of %s tokens where no maximum is named"
    )
    assert list(who.told(made(tmp_path, WHOLE, *rows))) == [
        "org        acme, Europe/Berlin: 1,500.5 USD a month; any of the models; tenant acme; cleared up to internal",
        f"team       acme/support: {limits}; {rights % '1,000'}",
        f"key        acme/support/bot: 0 USD an hour; {rights % '1,000'}",
        f"key        acme/support/ann: blocked; admin; no limits of its own; {rights % '7'}",
        "key        eve: auditor; asks no models",
        "key        acme/joe: auditor; asks no models",
    ]
    assert list(who.told(settings.load(environ={}))) == []


def small(folder: Path, orgs: str, *rows: dict[str, Any]) -> list[str]:
    read = made(folder, orgs, *rows)
    return [one.removeprefix(f"{folder}/") for one in who.small(read, folder / "elbowroom.yaml")]


def test_a_limit_that_nothing_fits_into_has_a_line_and_a_cap_that_mends_it(tmp_path: Path):
    teams = "    teams:\n      - {name: t}\n      - name: u\n        tpm_limit: 9\n"
    orgs = f"orgs:\n  - name: a\n    max_budget: 0.01\n{teams}"
    nothing = "keys.yaml:2: 4 tokens is less than one hold of m, 16,392 where a client names no maximum; "
    mend = "where a client names no maximum; an output_cap of"
    assert small(tmp_path, orgs, row("bot", "sk-eb-1", org="a", team="t", max_tokens=4)) == [
        f"orgs.yaml:3: 0.01 USD is less than one hold of m, 0.16386 {mend} 998 would mend it (orgs[0].max_budget)",
        f"orgs.yaml:7: 9 tokens is less than one hold of m, 308 {mend} 1 would mend it (orgs[0].teams[1].tpm_limit)",
        f"{nothing}no output_cap would help (keys[0].max_tokens)",
    ]


@pytest.mark.parametrize(
    "team",
    [
        {"max_tokens": 60, "output_cap": 50}, {"max_tokens": 60, "policy": "careful"}, {"max_tokens": 60, "models": []},
        {"max_tokens": 0}, {"max_tokens": None}, {"tpm_limit": 708, "classes": ["general"]},
        {"max_budget": 0.01, "models": ["n"]},
    ],
)  # fmt: skip
def test_what_one_hold_fits_into_is_no_fault(tmp_path: Path, team: dict[str, Any]):
    assert small(tmp_path, json.dumps({"orgs": [{"name": "a", "teams": [{"name": "t", **team}]}]})) == []


def test_models_that_money_does_not_limit_are_named(tmp_path: Path):
    text = CONFIG.replace("general_settings", f"{UNPRICED}general_settings")
    orgs = "orgs: [{name: acme, max_budget: 5, teams: [{name: a, max_budget: 1}, {name: b, models: [n]}]}]"
    (tmp_path / "elbowroom.yaml").write_text(text)
    (tmp_path / "policy.yaml").write_text("")
    (tmp_path / "orgs.yaml").write_text(orgs)
    read = settings.load(tmp_path / "elbowroom.yaml", environ={})
    assert list(who.unpriced(read)) == [
        "own has no price, so its requests cost nothing, whatever the max_budget of acme, acme/a"
    ]
    assert list(who.unpriced(made(tmp_path, "orgs: [{name: acme, teams: [{name: a, rpm_limit: 1}]}]"))) == []


UNPRICED = """\
  - model_name: own
    litellm_params: {model: hosted_vllm/own, api_base: "http://127.0.0.1:1/v1"}
    model_info: {context_window: 100, max_output_tokens: 10}
"""
