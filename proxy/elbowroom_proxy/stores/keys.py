"""Keys as the configuration lists them.

Knows: whose a key is, by its SHA-256.
Does not know: any key; a key that is blocked is not in the list.
"""

from __future__ import annotations

from collections.abc import Mapping

from elbowroom.records import Principal


class ConfiguredKeys:
    """Those that were there at start."""

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        """`principals` by SHA-256 of their keys, in lower-case hex."""
        self._principals = principals

    def find(self, digest: str) -> Principal | None:
        """Whose key has that SHA-256; None: nobody's."""
        return self._principals.get(digest)
