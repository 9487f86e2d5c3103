"""Names for requests that nobody can guess and no two have.

Knows: that the system is asked once and not for each of them, since whoever asks it gives the processor away; that a
process which is forked off must not go on with its parent's.
Does not know: what is named.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from itertools import count
from secrets import token_bytes

BYTES = 28


class Ids:
    """One process's."""

    def __init__(self) -> None:
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Another secret, so other names."""
        self._key, self._numbers = token_bytes(32), count()

    def __call__(self) -> str:
        """`BYTES` in hexadecimal."""
        return blake2b(b"%d" % next(self._numbers), key=self._key, digest_size=BYTES).hexdigest()


drawn = Ids()
