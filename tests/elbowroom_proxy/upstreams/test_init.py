"""Only a file of the folder can be an upstream."""

from __future__ import annotations

import pytest

from elbowroom_proxy import upstreams
from elbowroom_proxy.addresses import UPSTREAMS


@pytest.mark.parametrize("name", sorted(UPSTREAMS))
def test_each_file_can_be_loaded_and_builds(name):
    assert callable(upstreams.load(name))


@pytest.mark.parametrize("name", ["", "os", "..settings", "__init__"])
def test_nothing_else_can(name):
    with pytest.raises(KeyError):
        upstreams.load(name)
