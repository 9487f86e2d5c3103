"""A .pth file runs at every start of Python: only those that are known may lie in the environment.

Compromised releases have used one (`litellm_init.pth` in litellm 1.82.8), so a name alone proves nothing here.
"""

from __future__ import annotations

import base64
import hashlib
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SITE = Path(sysconfig.get_path("purelib"))
# Each file, and the distribution whose RECORD must know it by its hash.
KNOWN = {"_elbowroom.pth": "elbowroom", "a1_coverage.pth": "coverage", "distutils-precedence.pth": "setuptools"}


def unexpected(site: Path) -> list[str]:
    """The names of .pth files that nobody has vouched for."""
    return sorted(path.name for path in site.glob("*.pth") if path.name not in KNOWN)


def recorded(distribution: str, file: str) -> str | None:
    """The SHA-256 that a distribution's RECORD gives for a file, as RECORD writes it."""
    found = [f for f in metadata.files(distribution) or [] if f.name == file]
    return found[0].hash.value if found and found[0].hash else None


def test_no_pth_file_is_unexpected():
    assert unexpected(SITE) == []


def test_an_unexpected_one_would_be_seen(tmp_path):
    for file in ("litellm_init.pth", "a1_coverage.pth"):
        (tmp_path / file).write_text("import os")
    assert unexpected(tmp_path) == ["litellm_init.pth"]


@pytest.mark.parametrize("path", sorted(SITE.glob("*.pth")), ids=lambda path: path.name)
def test_each_is_what_its_distribution_installed(path):
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")
    assert recorded(KNOWN[path.name], path.name) == digest


def test_ours_names_the_two_roots_and_runs_nothing():
    assert sorted((SITE / "_elbowroom.pth").read_text().split()) == [str(ROOT / "proxy"), str(ROOT / "src")]
