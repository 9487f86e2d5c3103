"""The folder that the demo day leaves: a configuration that can be served, keys, policies, and the traces.

Knows: which organisations, teams and keys there are, under which limits and policies, and that only a folder which was
made here is made anew.
Does not know: what is asked (`plan`), or where the model's server listens before it is told.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from elbowroom.errors import InvalidConfig
from elbowroom.records.request import Role
from elbowroom_proxy import keyfile
from elbowroom_proxy.cli.day.plan import MODEL
from elbowroom_proxy.cli.keys import BEGINS, LENGTH, SHOWN
from elbowroom_proxy.directory import KeyRow, KeysFile, SecretRow

HEADER = "# Written by `elbowroom demo-day`, which writes it anew when it is called again.\n"
FILE = "elbowroom.yaml"
CAPTURE_DAYS = 3650  # texts stay, however long ago the day was
# (name, team, role): who has a key.
HOLDERS: tuple[tuple[str, str | None, Role], ...] = (
    ("portal", "acme/support", "user"),
    ("chat", "acme/support", "user"),
    ("claims-desk", "acme/claims", "user"),
    ("trial", "acme/trial", "user"),
    ("wechat", "globex/helpdesk", "user"),
    ("intranet", "globex/lab", "user"),
    ("nightly", "globex/batch", "user"),
    ("reviewer", None, "auditor"),
    ("operator", None, "admin"),
)
ORGS = [
    {
        "name": "acme", "timezone": "Europe/Berlin", "tenant": "acme", "clearance": "internal",
        "max_budget": 5, "budget_duration": "1d",
        "teams": [
            {"name": "support", "policy": "support"},
            {"name": "claims", "policy": "claims"},
            {"name": "trial", "max_tokens": 6000, "output_cap": 300},
        ],
    },
    {
        "name": "globex", "timezone": "Asia/Shanghai", "tenant": "globex", "clearance": "internal",
        "max_tokens": 2_000_000, "budget_duration": "1d",
        "teams": [{"name": "helpdesk"}, {"name": "lab", "mode": "shadow"}, {"name": "batch", "rpm_limit": 3}],
    },
]  # fmt: skip
POLICIES = {
    "house/policy.yaml": 'id: house\nversion: "4"\n',
    "house/sources.yaml": "sources:\n  - {id: handbook, authority: 0.9}\n",
    # Its sources lack a row: what the incident review is about.
    "support/policy.yaml": 'id: support\nversion: "7"\ntools:\n  refund: {side_effect: true}\n',
    "support/sources.yaml": "sources:\n  - {id: handbook, authority: 0.9}\n",
    "claims/policy.yaml": 'id: claims\nversion: "2"\n',
    "claims/sources.yaml": (
        "sources:\n  - {id: claims-manual, authority: 0.9}\n  - {id: intranet, authority: 0.3, freshness_days: 365}\n"
    ),
}


def make(folder: Path) -> dict[str, str]:
    """The folder with all but elbowroom.yaml in it; each holder's key. Raises `InvalidConfig` where something else lies
    there.
    """
    if folder.exists() and any(folder.iterdir()):
        file = folder / FILE
        if not (file.is_file() and file.read_text().startswith(HEADER)):
            raise InvalidConfig(f"{folder}:1: something else is in this folder; name another one with --out")
        shutil.rmtree(folder)
    for name, text in POLICIES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "orgs.yaml").write_text(HEADER + json.dumps({"orgs": ORGS}, indent=2) + "\n")
    keys = {name: BEGINS + secrets.token_urlsafe(LENGTH)[:LENGTH] for name, _, _ in HOLDERS}
    rows = tuple(_row(name, team, role, keys[name]) for name, team, role in HOLDERS)
    keyfile.change(folder / "keys.yaml", lambda _: KeysFile(keys=rows))
    return keys


def configure(folder: Path, address: str) -> Path:
    """Writes elbowroom.yaml, whose model is at that address; the file."""
    file = folder / FILE
    file.write_text(HEADER + yaml.safe_dump(_configured(folder.resolve(), address), sort_keys=False))
    return file


def _row(name: str, team: str | None, role: Role, key: str) -> KeyRow:
    org, _, named = (team or "").partition("/")
    secret = SecretRow(hashlib.sha256(key.encode()).hexdigest(), key.removeprefix(BEGINS)[:SHOWN])
    return KeyRow(name=name, org=org or None, team=named or None, role=role, secrets=(secret,))


def _configured(folder: Path, address: str) -> Mapping[str, Any]:
    return {
        "model_list": [
            {
                "model_name": MODEL,
                "litellm_params": {"model": f"openai/{MODEL}", "api_base": f"{address}/v1", "api_key": "none"},
                "model_info": {
                    "context_window": 8192,
                    "max_output_tokens": 2048,
                    "family": "gpt-4o",
                    "input_cost_per_token": 0.0000025,
                    "output_cost_per_token": 0.00001,
                },
            }
        ],
        "traces": {"capture": "redacted", "capture_days": CAPTURE_DAYS},
        "general_settings": {
            # The store is to be read and proved wherever it lies; there is nothing in it that would be a secret.
            "secret": "the demo day, and no secret at all",
            "traces": str(folder / "traces"),
            "kill_file": str(folder / "kill"),
            "orgs": "orgs.yaml",
            "keys": "keys.yaml",
            "policy": "house/policy.yaml",
            "policies": {"support": "support/policy.yaml", "claims": "claims/policy.yaml"},
            "ledger": {"store": "memory", "volatile": True},
        },
    }
