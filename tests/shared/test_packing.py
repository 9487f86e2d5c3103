"""`cover` against its rivals on a part of the recorded packing cases; `make eval` measures all of them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import Here


def test_the_bar_holds_on_every_eleventh_case(shared: Path, here: Here) -> None:
    folder = shared / "data" / "packing"
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    Path("cases.jsonl").write_text("\n".join(lines[::11]), encoding="utf-8")
    words = ["--passages", folder / "passages.jsonl", "--open", "--json", "--jobs", "1"]
    for packer in ("topk", "weighted", "cover"):
        words += ["--packer", packer]
    done = here("eval", "--cases", "cases.jsonl", *words)
    assert done.returncode == 0
    rows = {(row["packer"], row["budget"], row["group"]): row for row in json.loads(done.stdout)["results"]}
    for budget, above in {500: 9.0, 1000: 4.0, 2000: 3.0, 4000: 0.8}.items():
        cover, topk, weighted = (rows[packer, budget, "all"]["recall"] for packer in ("cover", "topk", "weighted"))
        assert cover >= topk + above, budget
        assert cover >= weighted, budget
    assert rows["cover", 500, "zh"]["recall"] >= 92
    assert [key for key, row in rows.items() if row["over"]] == []
