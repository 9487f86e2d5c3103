"""What the README tells a reader to run does run.

Knows: ```console and ```sh blocks hold commands, ```python blocks whole programs; both speak to the default address,
which is pointed at a server of this test's own.
Does not know: what they print.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.house.tree import ROOT
from tests.servers import Elbowroom, script

README = (ROOT / "README.md").read_text("utf-8")
FENCE = re.compile(r"^```(console|sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):8080")
# Left to .ci/run (it runs both in a clean clone), to this test's own server, and to machines that have Docker.
ELSEWHERE = re.compile(r"(git clone|cd|make (demo|test|setup|check)|elbowroom serve|docker)\b")
SECONDS = 120


class Block(NamedTuple):
    """One thing to run: a shell command, or a Python program."""

    kind: str
    text: str


def blocks(markdown: str) -> list[Block]:
    """What a reader would run, in order. Lines of a console block without a `$ ` are what it printed."""
    found = []
    for kind, text in FENCE.findall(markdown):
        if kind == "python":
            found.append(Block("python", text))
            continue
        joined = text.replace("\\\n", "")
        lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
        if kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += [Block("sh", line) for line in lines]
    return found


def runnable(markdown: str) -> list[Block]:
    """The blocks less the commands that are run elsewhere."""
    return [block for block in blocks(markdown) if not ELSEWHERE.match(block.text)]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Elbowroom]:
    """The service as the README's reader starts it."""
    with Elbowroom(tmp_path_factory.mktemp("readme")) as running:
        yield running


def test_the_first_screen_says_what_to_type():
    commands = [block.text for block in blocks(README)]
    assert "make demo" in commands
    assert "make test" in commands
    assert README.index("make demo") < README.index("make test")


def test_what_is_run_elsewhere_is_what_ci_runs():
    assert "make demo" in (ROOT / ".ci" / "run").read_text()
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if re.match(r"\w+:", line)}
    made = {target for block in blocks(README) for target in re.findall(r"^make (\w+)", block.text)}
    assert made <= targets


@pytest.mark.parametrize("block", runnable(README), ids=lambda block: block.text[:60])
def test_it_runs(block, request):
    server = request.getfixturevalue("server") if ADDRESS.search(block.text) else None
    text = ADDRESS.sub(f"127.0.0.1:{server.port}", block.text) if server else block.text
    command = [sys.executable, "-c", text] if block.kind == "python" else ["bash", "-euo", "pipefail", "-c", text]
    env = {**os.environ, "PATH": f"{script('python').parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README))))
def test_each_link_leads_somewhere(path):
    assert (ROOT / path).exists()


def test_blocks_are_read_as_a_reader_would():
    markdown = """
```console
$ elbowroom pack a.json \\
    --json
what it printed
$ make demo
```
```yaml
not: run
```
```sh
# a remark
curl localhost:8080/livez
```
```python
print(1)
```
"""
    assert blocks(markdown) == [
        Block("sh", "elbowroom pack a.json     --json"),
        Block("sh", "make demo"),
        Block("sh", "curl localhost:8080/livez"),
        Block("python", "print(1)\n"),
    ]
    assert Block("sh", "make demo") not in runnable(markdown)
    assert len(runnable(markdown)) == 3
