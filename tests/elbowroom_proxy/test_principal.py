"""In open mode nobody becomes somebody by a header."""

from __future__ import annotations

from elbowroom.records import Principal
from elbowroom_proxy.principal import open_principal


def test_everybody_is_the_same_open_principal():
    assert open_principal({}) == open_principal({"authorization": "Bearer x", "x-tenant": "acme"}) == Principal()
    assert open_principal({}).tenant is None
