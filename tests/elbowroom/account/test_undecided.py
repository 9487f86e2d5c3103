"""What a record that says nothing of passages says instead."""

from __future__ import annotations

import pytest

from elbowroom.account.undecided import undecided

REFUSED = "the request was refused before anything was decided"
HANDED_ON = "the request was handed on as it came"


@pytest.mark.parametrize(
    ("story", "why"),
    [
        ({}, ""),
        ({"window": None, "relayed": None, "error": None}, ""),
        ({"window": {"input": 1}, "error": {"code": "context_length_exceeded"}}, ""),
        ({"window": None, "error": {"code": "rate_limit_exceeded"}}, REFUSED),
        ({"relayed": {"route": "responses"}, "error": {"code": "upstream_error"}}, HANDED_ON),
    ],
)
def test_it_is_said_why(story, why):
    assert undecided(story) == why
