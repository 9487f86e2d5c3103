"""Runs the `elbowroom` command as a shell would: a process of its own, nothing of this machine's settings in it.

Knows: how to call it and what it left behind.
Does not know: what any command is expected to do.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

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
