"""Standard error, whatever it is when something is said.

Knows: that a logger may outlive what standard error was when it was made.
Does not know: what is said, or in which form.
"""

from __future__ import annotations

import sys


class Stderr:
    """A file to be written to."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()
