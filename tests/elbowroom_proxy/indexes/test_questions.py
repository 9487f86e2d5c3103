"""The statements, asked of nothing: the contract asks them of every index (`tests/contract/test_indexes.py`)."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.account.search import Filters, Indexed, Scope
from elbowroom_proxy.indexes._questions import overview, where

TEXTS = ("tenant", "org", "team", "subject", "query_class", "model", "policy", "conversation", "code", "id")


@given(st.dictionaries(st.sampled_from(TEXTS), st.text(min_size=1)), st.text(min_size=1))
def test_nothing_that_is_sought_becomes_part_of_a_statement(words, tenant):
    holds, values = where(msgspec.convert(words, Filters), Scope(tenant=tenant))
    same, _ = where(msgspec.convert(dict.fromkeys(words, "x"), Filters), Scope(tenant="x"))
    assert holds == same
    assert holds.count("?") == len(values)
    assert tenant in values


def test_an_overview_of_nothing_is_all_zeros():
    def ask(sql, values):
        assert sql.count("?") == len(values)
        if sql.startswith("SELECT count(*), sum"):
            return [(0, *[None] * 9)]
        return [(0, None, None)] if "min(" in sql else []

    found = overview(ask, Filters(), Scope(), Indexed())
    assert (found.requests, found.failed, found.invented, found.orgs, found.overhead_ms.n) == (0, 0, 0, (), 0)
