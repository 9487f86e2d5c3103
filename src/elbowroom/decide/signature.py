"""Signatures of access labels: that a retriever with a tenant's key said so, and how long ago.

Knows: the canonical form of a document and its label, HMAC-SHA256, whose key is whose, how old a signature may be.
Does not know: whether a signature is demanded, who asks, or what a label permits.

The canonical form is JSON with sorted names, no white space and no escapes but JSON's own, in UTF-8 (RFC 8785, as there
are no fractions), of `access` without `sig`, `id`, `text_sha256` and `title`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from elbowroom.records import Document

CLOCK_SKEW = 60.0  # seconds that a signature may seem to come from the future


class LabelKey(Struct, frozen=True):
    """What one retriever signs with, and the only tenant that it may speak for."""

    tenant: str
    secret: bytes


def canonical(document: Document) -> bytes:
    """The bytes that are signed."""
    text = (document.text or "").encode("utf-8", "surrogatepass")
    value = {
        "access": {name: one for name, one in (document.access or {}).items() if name != "sig"},
        "id": document.id,
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "title": document.title,
    }
    said = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return said.encode("utf-8", "surrogatepass")


def sign(document: Document, secret: bytes) -> str:
    """The signature, in lower-case hex. `iat` and `kid` must already stand in the label."""
    return hmac.digest(secret, canonical(document), hashlib.sha256).hex()


def fault(document: Document, keys: Mapping[str, LabelKey], max_age: float, now: float | None) -> str | None:
    """Why the label's signature does not hold, `""` where there is none; None: it holds. Times in seconds.

    The label is one that can be read (`access.read_label`).
    """
    access: Mapping[str, Any] = document.access or {}
    if access.get("sig") is None:
        return ""
    key = keys.get(access["kid"])
    if key is None:
        return "its key is not known"
    if key.tenant != access["tenant"]:
        return "its key is another tenant's"
    if not hmac.compare_digest(access["sig"].encode(), sign(document, key.secret).encode()):
        return "it is of something else"
    if now is None or not now - max_age <= access["iat"] <= now + CLOCK_SKEW:
        return "it is too old"
    return None
