"""What a source of the kill switch says, as bytes and as a value.

Knows: that an empty file kills, as `touch` makes it, and so does everything that is not plainly a no.
Does not know: where the bytes are kept, or what being killed means.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

NO = frozenset({b"0", b"false", b"no", b"off"})
LONGEST_REASON = 200  # characters


class Word(Struct, frozen=True):
    """Whether everything is to be served with the baseline, and why."""

    on: bool
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] = ""


def written(word: Word) -> bytes:
    """One line of JSON."""
    return msgspec.json.encode(word) + b"\n"


def read(data: bytes) -> Word:
    """The word. A bare `off` is a no; a bare anything else is a yes with that for a reason."""
    try:
        return msgspec.json.decode(data, type=Word)
    except (msgspec.DecodeError, RecursionError):
        bare = data.strip()
    if bare.lower() in NO:
        return Word(on=False)
    return Word(on=True, reason=bare.decode("utf-8", "replace")[:LONGEST_REASON])
