"""Filters come from words, and a word that cannot be is told with its name."""

from __future__ import annotations

import pytest

from elbowroom.account.search import NAMES, Filters, read_filters
from elbowroom.errors import InvalidRequest

NOW = 1_000_000_000


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, Filters()),
        ({"tenant": "", "since": "  "}, Filters()),
        ({"tenant": " acme "}, Filters(tenant="acme")),
        ({"class": "how_to", "code": "overloaded"}, Filters(query_class="how_to", code="overloaded")),
        ({"id": "a\ud800"}, Filters(id="a?")),
        ({"mode": "shadow", "reason": "stale", "kind": "read"}, Filters(mode="shadow", reason="stale", kind="read")),
        (
            {"invented": "yes", "tainted": "1", "over_budget": "FALSE"},
            Filters(invented=True, tainted=True, over_budget=False),
        ),
        ({"status": "429"}, Filters(status=429)),
        ({"status": "5xx"}, Filters(status=5)),
        ({"status": "4"}, Filters(status=4)),
        ({"since": "15m", "until": "1s"}, Filters(since=NOW - 900_000, until=NOW - 1_000)),
        ({"since": "1h"}, Filters(since=NOW - 3_600_000)),
        ({"since": "2d"}, Filters(since=NOW - 172_800_000)),
        ({"since": "1w"}, Filters(since=NOW - 604_800_000)),
        ({"since": "1970-01-02"}, Filters(since=86_400_000)),
        ({"until": "1970-01-01T00:00:02Z"}, Filters(until=2_000)),
    ],
)
def test_words_become_filters(words, expected):
    assert read_filters(words, NOW) == expected


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("nonsense", "x"),
        ("mode", "loud"),
        ("reason", "ugly"),
        ("kind", "other"),
        ("invented", "perhaps"),
        ("status", "600"),
        ("status", "4xxx"),
        ("status", "٤٢٩"),
        ("since", "soon"),
        ("until", "3y"),
        ("since", "٣h"),
    ],
)
def test_what_cannot_be_is_refused_by_name(name, word):
    with pytest.raises(InvalidRequest) as caught:
        read_filters({name: word}, NOW)
    assert caught.value.param == name


def test_every_field_has_a_word():
    given = {
        "id": "a",
        "mode": "shadow",
        "reason": "stale",
        "kind": "read",
        "status": "4",
        "since": "1h",
        "until": "1h",
    }
    words = {name: given.get(name, "yes") for name in NAMES}
    found = read_filters(words, NOW)
    assert all(getattr(found, field) is not None for field in Filters.__struct_fields__)
