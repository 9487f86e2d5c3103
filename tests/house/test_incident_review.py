"""What docs/incident-review.md tells a reader to run does run, and prints what it shows.

Knows: the page's console blocks, in order, in one folder; that `serve` is a server.
Does not know: ids, digests and times of a run, which differ from those on the page.
"""

from __future__ import annotations

import os
import re
import subprocess

import httpx
import pytest

from tests.house.test_readme import FENCE
from tests.house.tree import ROOT
from tests.servers import Process, free_port, script

PAGE = (ROOT / "docs" / "incident-review.md").read_text("utf-8")
ELIDED = "..."
# Ids, and what else is another one in each run.
OWN = re.compile(r"\b[0-9a-f]{12}(?:[0-9a-f]{20})?\b|\d+\.\d ms")
SECONDS = 240


def sessions(markdown: str) -> list[tuple[str, list[str]]]:
    """Each command, and the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for _, text in FENCE.findall(markdown):
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line.strip() and line != ELIDED:
                found[-1][1].append(line)
    return found


def plain(text: str) -> str:
    return OWN.sub("*", text)


def test_a_reader_who_follows_it_sees_what_it_shows(tmp_path):
    env = {name: value for name, value in os.environ.items() if name not in {"REDIS_URL", "ELBOWROOM_SECRET"}}
    env["PATH"] = f"{script('python').parent}:{env['PATH']}"
    commands = sessions(PAGE)
    assert len(commands) > 12
    for command, shown in commands:
        if command.startswith("elbowroom serve"):
            port = free_port()
            words = [str(script(command.split()[0])), *command.split()[1:], "--port", str(port)]
            with Process(words, "Uvicorn running on", cwd=tmp_path):
                assert httpx.get(f"http://127.0.0.1:{port}/ui", follow_redirects=True).status_code in (200, 401)
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        printed = plain(done.stdout).splitlines()
        assert [line for line in map(plain, shown) if line not in printed] == [], f"{command}\n{done.stdout}"
        if "--reason stale --team support" in command:
            assert len(printed) == 1  # the heading alone, as the page says


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE))))
def test_each_link_leads_somewhere(path):
    assert (ROOT / "docs" / path).exists()


def test_commands_and_what_they_print_are_told_apart():
    markdown = "```console\n$ one\nprinted\n...\n$ two\n```\nwords\n```console\n$ three\n```\n"
    assert sessions(markdown) == [("one", ["printed"]), ("two", []), ("three", [])]
