"""What admitting a passage costs."""

from __future__ import annotations

from tests.passages import passage


def test_a_passage_costs_its_tag_lines_and_its_body():
    assert passage(tag_tokens=15, body_tokens=100).tokens == 115
