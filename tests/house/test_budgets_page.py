"""The worked example of docs/budgets.md is what its command prints."""

from __future__ import annotations

from bench import budgets
from tests.house.tree import ROOT


def test_the_example_on_the_page_is_what_the_command_prints():
    assert "\n".join(budgets.told()) in (ROOT / "docs" / "budgets.md").read_text("utf-8")
