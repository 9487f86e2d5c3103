"""The table of docs/separation.md is what its command prints of the texts of this repository."""

from __future__ import annotations

from bench import separation
from tests.house.tree import ROOT
from tests.payloads import PAYLOADS


def test_the_table_on_the_page_is_what_the_command_prints():
    found = separation.rows(PAYLOADS)
    page = (ROOT / "docs" / "separation.md").read_text("utf-8")
    assert f"The {len(PAYLOADS)} texts of this repository:\n\n" + "\n".join(separation.told(found)) in page
    ours = [row for row in found if row[0].startswith("elbowroom")]
    assert [row[1:] for row in ours] == [(0, 0)] * len(ours)
    assert all(alive for name, alive, _ in found if not name.startswith("elbowroom"))
