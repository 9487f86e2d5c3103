"""The project's files as git sees them, for the tests that look at all of them.

New files count before they are committed, ignored ones never.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"elbowroom": ROOT / "src" / "elbowroom", "elbowroom_proxy": ROOT / "proxy" / "elbowroom_proxy"}


@cache
def files() -> list[Path]:
    """All files that are in git or would be, sorted, as absolute paths."""
    # safe.directory: a clone may belong to another user than the one who runs the tests.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(path for name in set(listing.split("\0")) - {""} if (path := ROOT / name).is_file())


def name(path: Path) -> str:
    """A file as it is called in the project."""
    return path.relative_to(ROOT).as_posix()


def sources() -> list[Path]:
    """The Python files of both packages."""
    return [path for path in files() if path.suffix == ".py" and any(map(path.is_relative_to, PACKAGES.values()))]
