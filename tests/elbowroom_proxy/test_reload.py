from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from elbowroom.errors import InvalidConfig
from elbowroom_proxy import settings
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.reload import Reload, live_part
from elbowroom_proxy.settings import Settings
from tests.proxy import config
from tests.upstream import WAIT


class Watched:
    """A configuration on disk, and whoever watches it; nothing is looked at but by `look`."""

    def __init__(self, folder: Path) -> None:
        self.file, self.policy = folder / "elbowroom.yaml", folder / "policy.yaml"
        self.file.write_text(config("http://127.0.0.1:1/v1", policy="policy.yaml"))
        self.policy.write_text("id: first\n")
        self.swapped: list[Settings] = []
        self.needs: Sequence[str] = ()
        self.fault: Exception | None = None
        self.metrics = Metrics()
        self.settings = settings.load(self.file, {})
        self.reload = Reload(self.settings, self.swap, self.metrics)

    async def swap(self, found: Settings) -> Sequence[str]:
        if self.fault is not None:
            raise self.fault
        self.swapped.append(found)
        return self.needs

    async def looks(self, times: int = 2) -> list[str]:
        """The names of the policies that were put in force."""
        before = len(self.swapped)
        for _ in range(times):
            await self.reload.look()
        return [one.policy.id for one in self.swapped[before:]]

    @property
    def good(self) -> bool:
        return b"elbowroom_config_reload_good 1.0" in self.metrics.render()


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


async def test_nothing_is_read_where_nothing_changes(watched: Watched):
    assert await watched.looks(3) == []
    assert watched.good


async def test_a_change_is_read_once_it_has_held_still(watched: Watched):
    watched.policy.write_text("id: second\n")
    assert await watched.looks(1) == []
    watched.policy.write_text("id: third\n")  # somebody is still writing
    assert await watched.looks(1) == []
    assert await watched.looks(3) == ["third"]


async def test_both_digests_are_logged_and_what_needs_a_restart(watched: Watched):
    watched.needs = ["general_settings.secret"]
    watched.policy.write_text("id: second\n")
    with capture_logs() as logged:
        await watched.looks()
    (line,) = [one for one in logged if one["event"] == "reloaded"]
    assert (line["before"], line["after"]) == (watched.settings.files.digest, watched.swapped[0].files.digest)
    assert line["policy_before"] != line["policy_after"] == watched.swapped[0].policy.digest
    assert line["needs_a_restart"] == ["general_settings.secret"]


@pytest.mark.parametrize("text", ["id: [\n", "mode: shady\n", "packer: none\n", "input_limit: 0\n", "\tx", "a: 1\n"])
async def test_what_is_wrong_leaves_the_last_good_one_in_force(watched: Watched, text: str):
    watched.policy.write_text(text)
    with capture_logs() as logged:
        assert await watched.looks(4) == []
    (line,) = [one for one in logged if one["event"] == "reload_failed"]
    assert "policy.yaml:" in line["error"]
    assert line["still_in_force"] == watched.settings.files.digest != line["found"]
    assert not watched.good
    watched.policy.write_text("id: second\n")
    assert await watched.looks() == ["second"]
    assert watched.good


async def test_taking_a_mistake_back_is_good_again_and_swaps_nothing(watched: Watched):
    watched.policy.write_text("id: [\n")
    await watched.looks()
    watched.policy.write_text("id: first\n")
    assert await watched.looks() == []
    assert watched.good


async def test_a_file_that_is_gone_and_one_that_comes(watched: Watched):
    watched.policy.rename(watched.policy.with_suffix(".away"))
    assert await watched.looks() == []
    watched.policy.with_suffix(".away").rename(watched.policy)
    assert await watched.looks() == []
    (watched.policy.parent / "classes").mkdir()
    (watched.policy.parent / "classes" / "general.yaml").write_text("name: general\nanswer_reserve: 123\n")
    assert await watched.looks() == ["first"]
    assert [one.answer_reserve for one in watched.swapped[0].policy.classes] == [123]


async def test_a_mistake_in_a_file_that_is_named_for_the_first_time_is_seen_to_be_mended(watched: Watched):
    other = watched.policy.with_name("other.yaml")
    other.write_text("id: [\n")
    watched.file.write_text(config("http://127.0.0.1:1/v1", policy="other.yaml"))
    assert await watched.looks() == []
    other.write_text("id: other\n")
    assert await watched.looks() == ["other"]


@pytest.mark.parametrize("fault", [InvalidConfig("no"), KeyError("nobody foresaw it")])
async def test_what_cannot_be_swapped_is_tried_once(watched: Watched, fault: Exception):
    watched.fault = fault
    watched.policy.write_text("id: second\n")
    with capture_logs() as logged:
        assert await watched.looks(4) == []
    assert [one["event"] for one in logged].count("reload_failed") == 1
    assert not watched.good


async def test_it_looks_by_itself_until_it_is_closed(watched: Watched):
    swapped = asyncio.Event()

    async def swap(found: Settings) -> Sequence[str]:
        swapped.set()
        return await watched.swap(found)

    reload = Reload(watched.settings, swap, watched.metrics, period=0.001)
    await reload.close()
    await reload.start()
    watched.policy.write_text("id: second\n")
    await swapped.wait()
    await reload.close()
    assert watched.swapped[0].policy.id == "second"


async def test_it_goes_on_looking_whatever_went_wrong_once(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    reload = Reload(watched.settings, watched.swap, watched.metrics, period=0.001)
    looked, enough = 0, asyncio.Event()

    async def look() -> None:
        nonlocal looked
        looked += 1
        if looked > 2:
            enough.set()
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(reload, "look", look)
    with capture_logs() as logged:
        await reload.start()
        await asyncio.wait_for(enough.wait(), WAIT)
        await reload.close()
    assert [one["event"] for one in logged] == ["reload"]  # once, for it may be there again in a moment


async def test_a_file_that_cannot_be_is_mended_like_any_other(watched: Watched):
    good = watched.file.read_text()
    watched.file.write_text(good.replace("policy.yaml", "poli\\u0000cy.yaml"))
    assert await watched.looks(3) == []
    assert not watched.good
    watched.file.write_text(good)
    await watched.looks()
    assert watched.good


def test_what_cannot_be_swapped_is_named_by_name_alone(tmp_path: Path):
    before = settings.load(written(tmp_path), {})
    after = settings.load(written(tmp_path, secret="another one, of the same length", ping_interval=3), {})
    held, names = live_part(before, after)
    assert names == ["general_settings.secret"]
    assert (held.general.secret, held.general.ping_interval) == (before.general.secret, 3)
    value = json.loads(written(tmp_path).read_text())
    (tmp_path / "elbowroom.yaml").write_text(json.dumps({**value, "traces": {"retention_days": 3, "sample": 0.5}}))
    held, names = live_part(before, settings.load(tmp_path / "elbowroom.yaml", {}))
    assert names == ["traces.retention_days"]
    assert (held.traces.retention_days, held.traces.sample) == (None, 0.5)


def test_what_cannot_hold_in_part_does_not_hold_at_all(tmp_path: Path):
    before = settings.load(written(tmp_path), {})
    closed = structs.replace(before, directory=structs.replace(before.directory, closed=True))
    for one, other in (
        (closed, before),
        (before, structs.replace(before, tokenizers={"v": tmp_path})),
        (before, structs.replace(before, keys_file=tmp_path / "other.yaml")),
    ):
        with pytest.raises(InvalidConfig, match="restart"):
            live_part(one, other)
    assert live_part(before, closed) == (closed, [])


def written(folder: Path, **general: Any) -> Path:
    file = folder / "elbowroom.yaml"
    file.write_text(config("http://127.0.0.1:1/v1", **general))
    return file
