"""Runs the `elbowroom` command as a shell would: a process of its own, nothing of this machine's settings in it.

Knows: how to call it and what it left behind.
Does not know: what any command is expected to do.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.servers import script

SECONDS = 120


def environment(**more: str) -> dict[str, str]:
    """This environment without what the service would read from it."""
    mine = {name: value for name, value in os.environ.items() if name not in {"REDIS_URL", "ELBOWROOM_SECRET"}}
    return {**mine, **more}


def elbowroom(
    *words: str | Path, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The finished command, its output as bytes."""
    return subprocess.run(
        [script("elbowroom"), *words],
        cwd=cwd,
        input=stdin,
        env=environment(**(env or {})),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


class Done(NamedTuple):
    """A command that ended."""

    returncode: int
    stdout: str
    stderr: str


Here = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The command in this process, for what need not pay for one of its own: `here(*words, **environment)`."""
    from elbowroom_proxy.__main__ import main

    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path, **more: str) -> Done:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("REDIS_URL", "ELBOWROOM_SECRET"):
                patch.delenv(name, raising=False)
            for name, value in more.items():
                patch.setenv(name, value)
            capsys.readouterr()
            status = main([str(word) for word in words])
        return Done(status, *capsys.readouterr())

    return run
