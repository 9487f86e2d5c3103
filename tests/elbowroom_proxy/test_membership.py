"""Organisations and keys lie beside elbowroom.yaml, or where it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elbowroom.budget.orgs import Orgs
from elbowroom.budget.rights import Written
from elbowroom.errors import InvalidConfig
from elbowroom.read.policy import Policy
from elbowroom_proxy.configfiles import Files
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.membership import read
from tests.holders import keys_text, orgs_text, row

WRITTEN = Written(Policy(), {}, {"m"})


def found(folder: Path, orgs: str | None = None, keys: str | None = None) -> tuple[Path, Directory]:
    return read(folder, orgs, keys, WRITTEN, Files())


def test_both_lie_beside_and_may_be_missing(tmp_path: Path):
    assert found(tmp_path) == (tmp_path / "keys.yaml", Directory(Orgs(), WRITTEN))
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    (tmp_path / "keys.yaml").write_text(keys_text(row("bot", "sk-eb-bot")))
    file, directory = found(tmp_path)
    assert file == tmp_path / "keys.yaml"
    assert (list(directory.orgs.teams), [one.name for one in directory.rows]) == ([("acme", "support")], ["bot"])


def test_they_may_lie_elsewhere(tmp_path: Path):
    (tmp_path / "o.yaml").write_text(orgs_text())
    (tmp_path / "k.yaml").write_text(keys_text(row("bot", "sk-eb-bot")))
    file, directory = found(tmp_path, "o.yaml", str(tmp_path / "k.yaml"))
    assert (file, directory.closed) == (tmp_path / "k.yaml", True)
    with pytest.raises(InvalidConfig, match=r"none.yaml:1: No such file"):
        found(tmp_path, "none.yaml")


def test_a_file_that_comes_into_being_counts(tmp_path: Path):
    files = Files()
    read(tmp_path, None, None, WRITTEN, files)
    before = files.digest
    assert files.look() == before
    (tmp_path / "orgs.yaml").write_text(orgs_text())
    assert files.look() != before


def test_keys_are_watched_by_themselves(tmp_path: Path):
    files = Files()
    read(tmp_path, None, None, WRITTEN, files)
    (tmp_path / "keys.yaml").write_text(keys_text())
    assert files.look() == files.digest


@pytest.mark.parametrize("zone", ["Mars/Base", "../UTC", "/etc/localtime", "", "Europe"])
def test_a_time_zone_has_to_exist(tmp_path: Path, zone: str):
    (tmp_path / "orgs.yaml").write_text(f"orgs:\n  - name: a\n    timezone: '{zone}'\n")
    with pytest.raises(InvalidConfig, match=r"orgs.yaml:3: there is no time zone .*\(orgs\[0\].timezone\)"):
        found(tmp_path)


def test_the_built_in_example_can_be_written(tmp_path: Path, root: Path):
    text = (root / "config" / "orgs.yaml").read_text("utf-8")
    (tmp_path / "orgs.yaml").write_text(text)
    assert found(tmp_path)[1].orgs == Orgs()
    comments, example = text.split("orgs: []\n")
    (tmp_path / "orgs.yaml").write_text(comments + "orgs:\n" + example.replace("#  ", "  "))
    shown = read(tmp_path, None, None, Written(Policy(), {}, {"demo-small"}), Files())[1].orgs
    assert set(shown.teams) == {("acme", "support"), ("acme", "research")}
    assert shown.teams["acme", "support"].account.entities[1].limits.period == "1d"


def test_what_the_documentation_shows_can_be_written(tmp_path: Path, root: Path):
    text = (root / "docs" / "keys.md").read_text("utf-8")
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "orgs.yaml").write_text(shown)
    orgs = read(tmp_path, None, None, Written(Policy(), {}, {"gpt-4o"}), Files())[1].orgs
    assert list(orgs.teams) == [("acme", "support")]
