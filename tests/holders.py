"""Organisations and keys for tests, as files.

Knows: the shortest orgs.yaml and keys.yaml that hold.
Does not know: what a test wants of them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

ORG, TEAM = "acme", "support"


def row(name: str, key: str, **more: Any) -> dict[str, Any]:
    """An entry of keys.yaml, of the one team."""
    secret = {"sha256": hashlib.sha256(key.encode()).hexdigest(), "prefix": key.removeprefix("sk-eb-")[:6]}
    return {"name": name, "org": ORG, "team": TEAM, "secrets": [secret], **more}


def orgs_text(**team: Any) -> str:
    """orgs.yaml: one organisation with one team, of which `team` is said."""
    return json.dumps({"orgs": [{"name": ORG, "teams": [{"name": TEAM, **team}]}]})


def keys_text(*rows: dict[str, Any]) -> str:
    """keys.yaml."""
    return json.dumps({"version": 1, "keys": rows})


def written(folder: Path, *rows: dict[str, Any], **team: Any) -> dict[str, str]:
    """Both files, in `folder`; keys.yaml only where there are rows. What `general_settings` says of them."""
    (folder / "orgs.yaml").write_text(orgs_text(**team))
    if rows:
        (folder / "keys.yaml").write_text(keys_text(*rows))
    return {"orgs": str(folder / "orgs.yaml"), "keys": str(folder / "keys.yaml")}
