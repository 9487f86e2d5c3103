"""The strict rule against recorded pairs: copies found, and texts with one number changed that are never merged."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from elbowroom_proxy import settings
from elbowroom_proxy.cli.dedupe import compare


def test_the_bar(shared: Path) -> None:
    policy = settings.load().policy
    found: Counter[tuple[str, str, bool]] = Counter()
    for line in (shared / "data" / "packing" / "neardup_pairs.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["label"], row["lang"], compare(row, policy).merged] += 1
    for lang in ("en", "zh"):
        assert found["dup", lang, True] >= 0.95 * (found["dup", lang, True] + found["dup", lang, False]), found
        assert found["conflict", lang, True] <= 0.01 * found["conflict", lang, False], found
