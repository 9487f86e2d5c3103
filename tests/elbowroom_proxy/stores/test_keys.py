"""Whose a key is, by its digest alone."""

from __future__ import annotations

from elbowroom.records import Principal
from elbowroom_proxy.stores.keys import ConfiguredKeys


def test_a_key_is_found_by_its_whole_digest():
    ann = Principal("ann", keyed=True)
    keys = ConfiguredKeys({"ab" * 32: ann})
    assert keys.find("ab" * 32) is ann
    assert keys.find("ab" * 31) is keys.find("") is None
