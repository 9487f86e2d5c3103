"""What lies beside records that are read from several folders: each instance's has its own.

Knows: that a record lies where its writer's files do, and so do its texts and the key that they and its hashes need;
that policies and instructions are known by their digests, wherever they lie.
Does not know: which folders are read together (an index does), or what is done with what was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elbowroom.read.policy import Policy
from elbowroom_proxy.sinks import beside
from elbowroom_proxy.tracing import ContentKeys, kept_keys

_WRITER = re.compile(r"[0-9a-f]{12}")


class Kept:
    """Of the folders that `others` names by then, and of its own first."""

    def __init__(self, folder: Path, secret: bytes, others: Callable[[], Sequence[str]] = tuple) -> None:
        """`secret` is what content keys are made with."""
        self._folder = folder
        self._secret = secret
        self._others = others

    def policy(self, digest: str) -> Policy | None:
        """None where it is not kept, or is not what it was."""
        found = (beside.policy(folder, digest) for folder in self._folders())
        return next((one for one in found if one is not None), None)

    def instruction(self, digest: str) -> str | None:
        """What redaction left of a system or developer text; None: not kept."""
        found = (beside.instruction(folder, digest) for folder in self._folders())
        return next((one for one in found if one is not None), None)

    def keys(self, story: Mapping[str, Any]) -> ContentKeys | None:
        """Those of a record's hashes and texts; None where they were destroyed."""
        return kept_keys(self._of(story), str(story.get("hash_key_id")), self._secret)

    def texts(self, story: Mapping[str, Any]) -> dict[str, Any] | None:
        """A record's captured texts, as `beside.capture` has them, as long as they and their key are there."""
        keys = self.keys(story)
        return None if keys is None else beside.capture(self._of(story), story, keys.texts)

    def _folders(self) -> Iterator[Path]:
        own = self._folder.absolute()
        yield own
        yield from (Path(one) for one in self._others() if Path(one) != own)

    def _of(self, story: Mapping[str, Any]) -> Path:
        writer = str(story.get("chain")).partition(":")[0]
        if _WRITER.fullmatch(writer):
            for folder in self._folders():
                if any(folder.glob(f"*-{writer}-*.jsonl")):
                    return folder
        return self._folder
