"""The pins: every package by hash, from nowhere in particular, and never a release known to be bad."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.house.tree import ROOT

FILES = sorted((ROOT / "requirements").glob("*.txt"))
WHOLE = [path for path in FILES if path.name != "claude.txt"]  # that one holds one package, for one extra
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(r"^([a-z0-9.-]+)(?:\[[a-z0-9,]+\])?==([^ ;\\]+)(?: ; [^\\]+?)? *\\?$")
BAD_LITELLM = re.compile(r"1\.82\.[78]|1\.107\..*")


def pins(text: str) -> dict[str, list[tuple[str, int]]]:
    """Each package with its versions, and how many hashes stand under each. Raises on a line that is none of this."""
    found: dict[str, list[tuple[str, int]]] = {}
    package = ""
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line):
            version, hashes = found[package][-1]
            found[package][-1] = (version, hashes + 1)
        elif match := PIN.match(line):
            package = match[1]
            found.setdefault(package, []).append((match[2], 0))
        else:
            raise ValueError(line)
    return found


def test_there_are_these():
    assert [path.name for path in FILES] == ["bench.txt", "claude.txt", "dev.txt", "run.txt"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_pin_has_a_hash(path):
    found = pins(path.read_text())
    assert len(found) > 20 or path not in WHOLE
    assert [name for name, versions in found.items() for _, hashes in versions if not hashes] == []


def test_a_line_without_a_hash_or_with_an_address_is_seen():
    assert pins("a==1 \\\n    --hash=sha256:" + "0" * 64 + "\nb==2 ; python_version < '3'\n") == {
        "a": [("1", 1)],
        "b": [("2", 0)],
    }
    for line in ("--index-url x", "a @ file:///x", "a>=1", "-f x"):
        with pytest.raises(ValueError, match=re.escape(line)):
            pins(line)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_pin_has_an_address(path):
    assert re.findall(r"\w+://|--(?!hash=)[\w-]+|@", path.read_text()) == []


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_no_pin_is_a_bad_litellm(path):
    [(version, _)] = pins(path.read_text())["litellm"]
    assert not BAD_LITELLM.fullmatch(version)


def test_what_has_a_file_of_its_own_is_pinned_alike():
    dev, alone = (pins((ROOT / "requirements" / f).read_text()) for f in ("dev.txt", "claude.txt"))
    assert alone == {name: dev[name] for name in alone}


def test_the_project_refuses_a_bad_litellm():
    [requirement] = [line for line in PYPROJECT["project"]["dependencies"] if line.startswith("litellm")]
    assert {"!=1.82.7", "!=1.82.8", "!=1.107.*"} <= set(requirement.removeprefix("litellm").split(","))


def test_what_the_service_needs_is_pinned_alike_everywhere():
    run, dev, bench = (pins((ROOT / "requirements" / f).read_text()) for f in ("run.txt", "dev.txt", "bench.txt"))
    for package, versions in run.items():
        assert dev[package] == bench[package] == versions


def test_every_dependency_is_pinned():
    run = pins((ROOT / "requirements" / "run.txt").read_text())
    wanted = [re.split(r"[<>=!;\[ ]", line)[0] for line in PYPROJECT["project"]["dependencies"]]
    assert set(wanted) <= set(run)
