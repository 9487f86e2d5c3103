"""The plan of the house: what lies where, how large it may get, and what it may be called."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

from tests.house.tree import PACKAGES, ROOT, files, name, sources

TOP = {
    *(".ci", "bench", "config", "docs", "proxy", "requirements", "src", "tests"),
    *(".dockerignore", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile"),
    *("README.md", "SECURITY.md", "compose.yaml", "pyproject.toml"),
}
LARGEST, MEDIAN = 400, 150
LARGEST_FILES = {"proxy/elbowroom_proxy/flow.py": 250}
BANNED = {"manager", "handler", "helper", "util"}


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def words(identifier: str) -> set[str]:
    """`HTTPHandlers` and `http_handlers` are both made of http and handler."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    return {part.lower().removesuffix("s") for part in parts}


def mirror(source: Path) -> Path:
    """Where a source file's test lies."""
    package, folder = next((key, root) for key, root in PACKAGES.items() if source.is_relative_to(root))
    inside = source.relative_to(folder)
    return ROOT / "tests" / package / inside.parent / f"test_{inside.stem.strip('_')}.py"


def imports_litellm(node: ast.AST) -> bool:
    """Whether this statement is what loads it."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "litellm" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "litellm"


def test_the_top_level_is_the_planned_one():
    assert {name(path).split("/")[0] for path in files()} <= TOP


def test_only_the_two_packages_hold_source():
    assert {path.parent.parent.name + "/" + path.parent.name for path in files() if path.name == "py.typed"} == {
        "src/elbowroom",
        "proxy/elbowroom_proxy",
    }
    known = set(sources())
    stray = [name(p) for p in files() if name(p).startswith(("src/", "proxy/")) and p not in known]
    assert [path for path in stray if path.endswith(".py")] == []


def test_no_file_is_too_long():
    allowed = {path: LARGEST_FILES.get(name(path), LARGEST) for path in sources()}
    assert {name(path): lines(path) for path, most in allowed.items() if lines(path) > most} == {}


def test_most_files_are_short():
    assert statistics.median(lines(path) for path in sources() if path.name != "__init__.py") <= MEDIAN


def test_each_file_has_its_mirror_test():
    wanted = [mirror(path) for path in sources() if path.name not in {"__init__.py", "__main__.py"}]
    assert [name(path) for path in wanted if not path.is_file()] == []


def test_each_mirror_test_has_its_file():
    mirrors = {mirror(path) for path in sources()}
    trees = tuple(f"tests/{package}/" for package in PACKAGES)
    tests = [path for path in files() if name(path).startswith(trees) and path.name.startswith("test_")]
    assert [name(path) for path in tests if path not in mirrors] == []


def test_each_file_opens_by_saying_what_it_knows():
    said = {name(path): ast.get_docstring(ast.parse(path.read_bytes())) or "" for path in sources()}
    assert [path for path, docstring in said.items() if len(docstring.split()) < 5] == []


def test_nothing_is_called_by_a_word_that_says_nothing():
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    named = [(path, path.stem) for path in sources()]
    for path in sources():
        named += [(path, node.name) for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, kinds)]
    assert [(name(path), identifier) for path, identifier in named if words(identifier) & BANNED] == []


def test_litellm_is_imported_in_one_file_and_not_with_it():
    # It takes seconds and 200 MB, which a service that never calls it should not pay.
    importing, at_once = set(), set()
    for path in sources():
        tree = ast.parse(path.read_bytes())
        if any(map(imports_litellm, ast.walk(tree))):
            importing.add(name(path))
        if any(map(imports_litellm, tree.body)):
            at_once.add(name(path))
    assert len(importing) <= 1
    assert at_once == set()


def test_an_import_of_litellm_is_seen_in_every_form():
    for line in ("import litellm", "import os, litellm.utils", "from litellm import x", "from litellm.utils import x"):
        assert imports_litellm(ast.parse(line).body[0])
    for line in ("import litellmish", "from . import litellm", "litellm = 1"):
        assert not imports_litellm(ast.parse(line).body[0])


def test_words_finds_the_parts_of_a_name():
    assert words("HTTPHandlers") == words("http_handlers") == {"http", "handler"}
    assert words("RequestManager") & words("path_utils") & BANNED == set()
    assert words("RequestManager") & BANNED == {"manager"}
    assert words("path_utils") & BANNED == {"util"}
