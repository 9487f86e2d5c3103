"""Where organisations and keys lie: orgs.yaml and keys.yaml, beside elbowroom.yaml unless it says otherwise.

Knows: which of the two may be missing, and that a time zone has to exist.
Does not know: what stands in them (`budget.orgs`, `directory`), or when they change.
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from elbowroom.budget.orgs import Orgs, OrgsFile
from elbowroom.budget.orgs import read as read_orgs
from elbowroom.budget.rights import Written
from elbowroom.read import yaml
from elbowroom.read.yaml import Marked
from elbowroom_proxy import directory
from elbowroom_proxy.configfiles import Files
from elbowroom_proxy.directory import Directory


def read(
    folder: Path, named_orgs: str | None, named_keys: str | None, written: Written, files: Files
) -> tuple[Path, Directory]:
    """The file of the keys, there or not, and everybody who may ask. Raises `InvalidConfig` with file and line."""
    keys = keys_file(folder, named_keys)
    # keys.yaml is watched by itself, so it is none of the files whose change makes all of them be read again.
    marked = orgs(folder, named_orgs, files)
    found = Orgs() if marked is None else read_orgs(marked, written)
    return keys, directory.read(directory.kept(keys), str(keys), found, written)


def keys_file(folder: Path, named: str | None) -> Path:
    """Where keys stand, if there are any."""
    return folder / (named or "keys.yaml")


def orgs(folder: Path, named: str | None, files: Files | None = None) -> Marked[OrgsFile] | None:
    """orgs.yaml with its lines; None where nothing is named and nothing lies there."""
    files = Files() if files is None else files
    file = folder / (named or "orgs.yaml")
    if named is None and files.first(file, folder) == folder:
        return None
    marked = yaml.read(files.text(file), str(file), OrgsFile)
    for i, org in enumerate(marked.value.orgs):
        try:
            ZoneInfo(org.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise marked.fault(f"orgs[{i}].timezone", f"there is no time zone {org.timezone}") from None
    return marked
