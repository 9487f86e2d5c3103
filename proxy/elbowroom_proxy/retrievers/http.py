"""Retriever: a webhook that is sent a query and answers with documents.

Knows: what is sent, which part of the answer is the list, and how much of it is taken.
Does not know: what a document looks like (the engine reads it, and trusts none of it), or how long anybody waits.
"""

from __future__ import annotations

import json
from typing import Any

import httpx

from elbowroom.errors import UpstreamUnavailable
from elbowroom_proxy.asked import Retriever

LARGEST = 1 << 20  # bytes of an answer; a longer one is none


class Http:
    """One address and its connections."""

    def __init__(self, row: Retriever) -> None:
        self._row = row
        self._client: httpx.AsyncClient | None = None

    async def documents(self, query: str) -> str:
        """A JSON list of `max_documents` at most. Raises `UpstreamUnavailable` for whatever is no such answer."""
        row = self._row
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=row.timeout, follow_redirects=False)
        headers = {"content-type": "application/json"}
        if row.api_key:
            headers["authorization"] = f"Bearer {row.api_key}"
        # ASCII: a lone surrogate has no other form on the wire.
        asked = json.dumps({"query": query, "max_documents": row.max_documents}).encode("ascii")
        try:
            async with self._client.stream("POST", row.url, content=asked, headers=headers) as response:
                if response.status_code != 200:
                    raise UpstreamUnavailable(f"The retriever answered with status {response.status_code}.")
                raw = b""
                async for chunk in response.aiter_bytes():
                    raw += chunk
                    if len(raw) > LARGEST:
                        raise UpstreamUnavailable("The retriever's answer is too long.")
        except httpx.HTTPError as error:
            raise UpstreamUnavailable(f"The retriever did not answer ({type(error).__name__}).") from error
        found = _list(raw)
        if found is None:
            raise UpstreamUnavailable("The retriever's answer is no list of documents.")
        return json.dumps(found[: row.max_documents])

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def _list(raw: bytes) -> list[Any] | None:
    """The answer, or what its `documents` or `results` are; None where that is no list."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = value.get("documents", value.get("results"))
    return value if isinstance(value, list) else None
