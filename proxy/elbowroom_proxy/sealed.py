"""Texts that lie in a shared store so that only who has the key can read or change them.

Knows: HMAC-SHA256 as a stream of bytes and as a seal, a fresh nonce each time, one key a purpose.
Does not know: stores, or what the texts are.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from itertools import count

_NONCE = 16  # bytes
_SEAL = 16


class Sealer:
    """Seals and opens with keys derived from one secret."""

    def __init__(self, secret: bytes) -> None:
        self._stream_key = hmac.digest(secret, b"elbowroom/sealed/stream", hashlib.sha256)
        self._seal_key = hmac.digest(secret, b"elbowroom/sealed/seal", hashlib.sha256)

    def seal(self, name: str, text: str) -> str:
        """The text under that name, in ASCII; it opens under no other."""
        nonce = secrets.token_bytes(_NONCE)
        hidden = self._hidden(nonce, text.encode("utf-8", "surrogatepass"))
        return base64.b64encode(nonce + hidden + self._mark(name, nonce + hidden)).decode("ascii")

    def open(self, name: str, sealed: str) -> str | None:
        """The text; None where that is not what was sealed under the name, in the very characters."""
        try:
            raw = base64.b64decode(sealed, validate=True)
        except ValueError:
            return None
        if base64.b64encode(raw).decode("ascii") != sealed:  # the last character has bits that say nothing
            return None
        told, mark = raw[:-_SEAL], raw[-_SEAL:]
        if len(told) < _NONCE or not hmac.compare_digest(mark, self._mark(name, told)):
            return None
        return self._hidden(told[:_NONCE], told[_NONCE:]).decode("utf-8", "surrogatepass")

    def _mark(self, name: str, told: bytes) -> bytes:
        told_name = name.encode()
        message = len(told_name).to_bytes(4, "big") + told_name + told
        return hmac.digest(self._seal_key, message, hashlib.sha256)[:_SEAL]

    def _hidden(self, nonce: bytes, content: bytes) -> bytes:
        stream = b""
        for block in count():
            if len(stream) >= len(content):
                break
            stream += hmac.digest(self._stream_key, nonce + block.to_bytes(8, "big"), hashlib.sha256)
        return bytes(a ^ b for a, b in zip(content, stream, strict=False))
