"""Texts that try to be more than text, and harmless ones that look like it."""

from __future__ import annotations

import json
import os
from pathlib import Path

ROWS: list[dict[str, str]] = json.loads((Path(__file__).parent / "fixtures" / "payloads.json").read_text("utf-8"))
PAYLOADS = [row["text"] for row in ROWS]
BENIGN = [row["text"] for row in ROWS if row["kind"] == "benign"]


_SHARED = Path(os.environ.get("ELBOWROOM_SHARED", Path(__file__).parents[2] / "shared"))


def shared_payloads(shared: Path) -> list[str]:
    """The strings that lie beside the checkout, with ours behind them."""
    rows = json.loads((shared / "data" / "injection_payloads.json").read_text("utf-8"))
    return [row["text"] for row in rows] + PAYLOADS


SEEDS = shared_payloads(_SHARED) if _SHARED.is_dir() else PAYLOADS
"""What properties begin with: ours, and those beside the checkout where a machine has them."""
