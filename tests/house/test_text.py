"""What no file of the project may say: where a machine keeps things, and where its packages come from."""

from __future__ import annotations

import re

import pytest

from tests.house.tree import files, name

# Written in pieces, so that this file does not say it either.
HOSTS = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "deb." + "debian.org", "hugging" + "face.co"]
PATHS = [r"/wo" + r"rk/", r"/ro" + r"ot/", r"/ho" + r"me/\w", r"/Us" + r"ers/\w", r"/opt/" + r"(?:pypi|wheels)"]
PLACE = ["work" + "place", "bash_" + "jobs"]
BANNED = re.compile("|".join([*map(re.escape, [*HOSTS, *PLACE]), *(rf"(?<![\w.-]){path}" for path in PATHS)]))
# Licences are quoted as they are.
QUOTED = {"LICENSE"}


def test_no_machine_and_no_registry_is_named():
    texts = {name(path): path.read_text("utf-8", errors="replace") for path in files() if name(path) not in QUOTED}
    assert {path: BANNED.findall(text) for path, text in texts.items() if BANNED.search(text)} == {}


@pytest.mark.parametrize("said", ["see /wo" + "rk/main", "from pypi" + ".org/simple", "'/ho" + "me/me'"])
def test_the_ban_bites(said):
    assert BANNED.search(said)


@pytest.mark.parametrize("said", ["the homework/", "docs/home/index", "framework/x", "https://example.org/"])
def test_the_ban_spares_what_only_looks_alike(said):
    assert not BANNED.search(said)
