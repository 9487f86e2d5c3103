"""An operator's own tokenizer.json.

Knows: how servers encode a rendered prompt: nothing added, special tokens in it read as such, nothing cut off.
Does not know: chat templates (`elbowroom.count.template`), hubs; only a file that is there is read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from elbowroom.errors import CountUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Local:
    """Implements `Encoder`."""

    quick = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def tokens(self, text: str) -> int:
        """A lone surrogate counts as U+FFFD."""
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return len(self._tokenizer.encode(whole, add_special_tokens=False).ids)


def build(which: str, file: Path | None) -> Local:
    """Raises `CountUnavailable` where the file is missing, no tokenizer, or not the one that `which` was made from."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

    if file is None:
        raise CountUnavailable(f"vocabulary tokenizer:{which}: no file is known for it")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise CountUnavailable(f"vocabulary tokenizer:{which}: {error.strerror or error}") from None
    if not hashlib.sha256(data).hexdigest().startswith(which):
        raise CountUnavailable(f"vocabulary tokenizer:{which}: the file has changed since the start")
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise CountUnavailable(f"vocabulary tokenizer:{which}: {error}") from None
    # A file may carry the limits of whoever trained with it.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Local(tokenizer)


def control_tokens(file: Path) -> tuple[str, ...]:
    """The added tokens of a tokenizer.json that a server reads as control: the special ones, and other tags.

    Raises `CountUnavailable` where the file cannot be read as one.
    """
    try:
        added = json.loads(file.read_bytes()).get("added_tokens") or []
        return tuple(one["content"] for one in added if one.get("special") or one["content"].startswith(("<", "[")))
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        raise CountUnavailable(f"{file.name} is no tokenizer.json whose added tokens can be read") from None
