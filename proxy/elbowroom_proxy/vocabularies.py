"""Tokenizer vocabularies, from files that are already on this machine.

Knows: where the OpenAI vocabularies lie (litellm's wheel carries them under the names that tiktoken looks for), what
their bytes must hash to, and the environment that keeps tiktoken and litellm from asking the network for them. All
other vocabularies are `encoders`.
Does not know: what is counted or why, caches of counts, threads (`tokens`).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from elbowroom.clean.control_strings import RULES
from elbowroom.clean.neutralise import Live, compile_rules, rules_of
from elbowroom.errors import CountUnavailable
from elbowroom_proxy import encoders
from elbowroom_proxy.encoders import Encoder
from elbowroom_proxy.encoders.tokenizer import control_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

# name -> (file name: SHA-1 of the address tiktoken would fetch, SHA-256 of the file's bytes)
FILES = {
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}

WIDEST = "widest"  # of every text the larger count: a bound for a model whose vocabulary nobody told us

# The splitter of tiktoken gives up on about a million white-space characters in a row; half of that is safe.
LONGEST_BLANK = 500_000


def bundled_folder() -> Path:
    """Where litellm's wheel keeps the files; found without importing litellm, which takes seconds."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise CountUnavailable("the tokenizer vocabularies come with litellm, which is not installed")
    return Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"


def live(files: Iterable[Path]) -> Live:
    """The control strings that texts are cleaned of: every family's, and what these tokenizers add.

    Raises `CountUnavailable` for a file that is no tokenizer.
    """
    found = compile_rules([*RULES, *rules_of({token: None for file in files for token in control_tokens(file)})])
    found.suspects("é", 0)  # compiled now, and not in somebody's request
    return found


class Vocabularies:
    """The vocabularies of one folder, checked, and loaded when first asked for."""

    def __init__(self, folder: Path | None = None, files: Mapping[str, Path] | None = None) -> None:
        """Make it before tiktoken or litellm is imported: both read the environment that is set here.

        `files`: the operator's own, by vocabulary.
        """
        self.folder = bundled_folder() if folder is None else folder
        os.environ["TIKTOKEN_CACHE_DIR"] = str(self.folder)
        os.environ["CUSTOM_TIKTOKEN_CACHE_DIR"] = str(self.folder)  # litellm overwrites the first with this one
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        self._files = files or {}
        self._encodings: dict[str, Encoding] = {}
        self._others: dict[str, Encoder] = {}
        self._loading = threading.Lock()

    def verify(self) -> tuple[str, ...]:
        """What is wrong with the files, one sentence each; empty when all of them are as they must be.

        tiktoken deletes and downloads again what has a wrong sum, so nothing is loaded before this was asked.
        """
        return tuple(fault for name in FILES if (fault := self._fault(name)))

    def _fault(self, name: str) -> str | None:
        file, expected = FILES[name]
        try:
            actual = hashlib.sha256((self.folder / file).read_bytes()).hexdigest()
        except OSError as error:
            return f"vocabulary {name}: {error.strerror or error} ({self.folder / file})"
        return None if actual == expected else f"vocabulary {name}: wrong SHA-256 {actual} ({self.folder / file})"

    def loaded(self, name: str) -> bool:
        """True when `tokens` of a short text returns at once; loading takes up to half a second."""
        if name == WIDEST:
            return all(file in self._encodings for file in FILES)
        other = self._others.get(name)
        return name in self._encodings if other is None else other.quick

    def identity(self, name: str) -> str:
        """A hash, hexadecimal, that changes when counts may."""
        if name == WIDEST:
            return hashlib.sha256("".join(sha for _, sha in FILES.values()).encode()).hexdigest()
        return FILES[name][1] if name in FILES else encoders.identity(name)

    def encoding(self, name: str) -> Encoding:
        """tiktoken's encoding of that name. Raises `CountUnavailable` for a missing, unknown or altered vocabulary."""
        known = self._encodings.get(name)
        if known is not None:
            return known
        with self._loading:
            if name not in self._encodings:
                fault = self._fault(name) if name in FILES else f"vocabulary {name}: unknown"
                if fault:
                    raise CountUnavailable(fault)
                import tiktoken  # noqa: PLC0415 - only once its environment is set and somebody counts

                self._encodings[name] = tiktoken.get_encoding(name)
            return self._encodings[name]

    def tokens(self, name: str, text: str) -> int:
        """T(text): special tokens are read as the text they are; a lone surrogate counts as U+FFFD.

        The result depends on `name` and `text` alone.
        """
        if name == WIDEST:
            return max(self.tokens(file, text) for file in FILES)
        pieces = [text] if len(text) <= LONGEST_BLANK else _cut_blanks(text)
        if name not in FILES:
            other = self._other(name)
            return sum(map(other.tokens, pieces))
        encoding = self.encoding(name)
        return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)

    def _other(self, name: str) -> Encoder:
        known = self._others.get(name)
        if known is not None:
            return known
        with self._loading:
            if name not in self._others:
                self._others[name] = encoders.load(name, self._files.get(name))
            return self._others[name]


def _cut_blanks(text: str) -> list[str]:
    """The text cut so that no piece has a run of white space that the splitter cannot bear; else not cut at all."""
    cuts = [0]
    for start in range(0, len(text), LONGEST_BLANK):
        end = start + LONGEST_BLANK
        if text[start:end].isspace():
            cuts += [start, end]
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True) if a < b]
