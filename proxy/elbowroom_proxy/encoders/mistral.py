"""Mistral's vocabularies, from the files in mistral-common's wheel.

Knows: their names, and that texts are encoded apart from control tokens.
Does not know: how a request is laid out (`elbowroom.count.mistral`).

Only the vocabularies with a regular expression for a splitter (tekken) are read: theirs alone add up over lines.
"""

from __future__ import annotations

import importlib.util
import json
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

from elbowroom.errors import CountUnavailable

if TYPE_CHECKING:
    from tiktoken import Encoding


class Tekken:
    """Implements `Encoder`."""

    quick = True

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def tokens(self, text: str) -> int:
        """A lone surrogate counts as U+FFFD."""
        return len(self._encoding.encode_ordinary(text))


def build(which: str, _file: Path | None) -> Tekken:
    """`which` is a file's name without `.json`. Raises `CountUnavailable` where the wheel has none of that name."""
    spec = importlib.util.find_spec("mistral_common")
    if spec is None or spec.origin is None or not which.replace("_", "").isalnum():
        raise CountUnavailable(f"vocabulary mistral:{which}: unknown")
    try:
        data = (Path(spec.origin).parent / "data" / f"{which}.json").read_bytes()
    except OSError:
        raise CountUnavailable(f"vocabulary mistral:{which}: not in mistral-common's wheel") from None
    return Tekken(_encoding(which, data))


def _encoding(name: str, data: bytes) -> Encoding:
    """The ranks as mistral-common gives them to tiktoken; control tokens have numbers of their own and are left out."""
    import tiktoken  # noqa: PLC0415 - only once its environment is set and somebody counts

    tekken = json.loads(data)
    config = tekken["config"]
    ordinary = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {b64decode(token["token_bytes"]): token["rank"] for token in tekken["vocab"][:ordinary]}
    return tiktoken.Encoding(name, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
