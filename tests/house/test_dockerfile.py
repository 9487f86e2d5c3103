"""Every path and every command that the image is made with exists; no image is built here."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.house.tree import ROOT, files, name
from tests.servers import script

# What the base image's Debian gives.
SYSTEM = {"chown", "mkdir", "useradd"}
INSTRUCTION = re.compile(r"^([A-Z]+)\s+(.*)$")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, continued lines joined, comments left out."""
    text = (ROOT / "Dockerfile").read_text()
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    found = [INSTRUCTION.match(line) for line in joined.splitlines() if line.strip()]
    return [(match[1], match[2]) for match in found if match]


def copied() -> list[str]:
    """What COPY takes from the checkout."""
    lines = [text.split() for word, text in instructions() if word == "COPY" and not text.startswith("--from")]
    return [source for line in lines for source in line[:-1]]


def commands() -> list[list[str]]:
    """Each command that RUN, CMD or HEALTHCHECK starts, as its words."""
    found = []
    for word, text in instructions():
        if "[" in text and word in {"CMD", "HEALTHCHECK"}:
            found.append(json.loads(text[text.index("[") :]))
        elif word == "RUN":
            found += [shlex.split(part) for part in text.split("&&")]
    return found


def composed() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def test_the_dockerfile_was_read():
    assert len(commands()) >= 8
    assert len(copied()) >= 6


def test_what_is_copied_exists_and_is_not_ignored():
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for source in copied():
        assert any(name(path) == source or name(path).startswith(source + "/") for path in files()), source
        assert source in let_in


def test_what_the_package_needs_is_copied():
    assert {"pyproject.toml", "README.md", "LICENSE", "config", "src", "proxy"} <= set(copied())


def test_each_requirements_file_is_copied_before_it_is_used():
    wanted = [words[words.index("-r") + 1] for words in commands() if "-r" in words]
    assert len(wanted) == 2
    assert set(wanted) <= set(copied())


def test_everything_comes_by_hash_or_from_the_checkout():
    for words in commands():
        if "install" in words:
            assert "--require-hashes" in words or words[-2:] == ["--no-deps", "dist/*.whl"]


def test_each_program_exists():
    for words in commands():
        program = Path(words[0]).name
        assert program in SYSTEM or script(program).exists(), program


def test_each_module_that_is_run_exists():
    modules = [words[words.index("-m") + 1] for words in commands() if "-m" in words]
    assert modules
    assert [module for module in modules if importlib.util.find_spec(module) is None] == []


def test_each_python_snippet_compiles():
    snippets = [words[words.index("-c") + 1] for words in commands() if "-c" in words]
    assert snippets
    for snippet in snippets:
        compile(snippet, "Dockerfile", "exec")


@pytest.mark.parametrize("words", [["elbowroom", "check"], ["elbowroom", "serve"]], ids=" ".join)
def test_each_of_our_commands_is_used_and_takes_these_options(words):
    used = [line for line in [*commands(), composed()["proxy"]["command"]] if line[:2] == words]
    assert used
    shown = subprocess.run([script(words[0]), words[1], "--help"], capture_output=True, text=True, check=True).stdout
    for line in used:
        assert [word for word in line if word.startswith("--") and word not in shown] == []


def test_it_does_not_run_as_root():
    final = instructions()[max(i for i, (word, _) in enumerate(instructions()) if word == "FROM") :]
    words = [word for word, _ in final]
    assert [text for word, text in final if word == "USER"] == ["elbowroom"]
    assert words.index("USER") < words.index("CMD")
    assert any(line[0] == "useradd" and line[-1] == "elbowroom" for line in commands())


def test_a_port_outside_the_container_reaches_it():
    assert ("EXPOSE", "8080") in instructions()
    for line in (commands()[-1], composed()["proxy"]["command"]):
        assert line[line.index("--host") + 1] == "0.0.0.0"
        assert line[line.index("--port") + 1] == "8080"


def test_what_compose_mounts_exists():
    mounted = [volume.split(":")[0] for volume in composed()["proxy"]["volumes"] if volume.startswith("./")]
    assert mounted == ["./config"]
    config = composed()["proxy"]["command"][composed()["proxy"]["command"].index("--config") + 1]
    assert ROOT / "config" / Path(config).name in files()


def test_compose_gives_the_proxy_its_redis():
    host = re.fullmatch(r"redis://(\w+):6379/0", composed()["proxy"]["environment"]["REDIS_URL"])
    assert host
    assert host[1] in composed()
    assert host[1] in composed()["proxy"]["depends_on"]
