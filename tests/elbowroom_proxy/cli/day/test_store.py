"""The folder of the demo day: a configuration that holds, and nothing of anybody else's thrown away."""

from __future__ import annotations

import hashlib

import pytest

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import settings
from elbowroom_proxy.cli.day import store


def test_what_is_made_is_a_configuration_that_holds(tmp_path):
    folder = tmp_path / "day"
    keys = store.make(folder)
    found = settings.load(store.configure(folder, "http://127.0.0.1:1"), environ={})
    assert set(keys) == {name for name, _, _ in store.HOLDERS}
    holders = found.directory.holders
    by_name = {name: holders[hashlib.sha256(key.encode()).hexdigest()].principal for name, key in keys.items()}
    assert {(one.subject, one.role) for one in by_name.values()} == {(name, role) for name, _, role in store.HOLDERS}
    assert (by_name["portal"].tenant, by_name["portal"].policy) == ("acme", "support")
    assert (by_name["reviewer"].tenant, by_name["operator"].tenant) == (None, None)
    assert set(found.policies) == {"support", "claims"}
    assert found.general.traces == str(folder / "traces")
    assert found.closed


def test_each_day_has_keys_of_its_own_and_the_one_before_is_gone(tmp_path):
    folder = tmp_path / "day"
    first = store.make(folder)
    store.configure(folder, "http://127.0.0.1:1")
    (folder / "traces").mkdir()
    assert set(first.values()).isdisjoint(store.make(folder).values())
    assert not (folder / "traces").exists()


@pytest.mark.parametrize("name", ["notes.txt", store.FILE])
def test_what_was_not_made_here_stays(tmp_path, name):
    (tmp_path / name).write_text("mine\n")
    with pytest.raises(InvalidConfig, match="something else is in this folder"):
        store.make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_empty_folder_is_taken(tmp_path):
    assert store.make(tmp_path)
