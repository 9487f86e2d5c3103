"""An answer of the proxy's own, in the shape of an upstream's, so that it goes the same way to the client.

Knows: OpenAI's chat completion, whole and streamed, for one text that cost no token; a stream always tells its usage.
Does not know: what the text says, or why no model was asked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

JSON = "application/json"
USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


class OwnReply:
    """Complete before its first byte."""

    status = 200

    def __init__(self, text: str, params: Mapping[str, Any], *, ident: str, created: int) -> None:
        """`params`: the client's own members of the body. `created` in seconds since 1970."""
        self.headers: Mapping[str, str] = {"content-type": "text/event-stream" if params.get("stream") else JSON}
        self._text = text
        self._choices = params.get("n") or 1
        self._envelope = {"id": f"chatcmpl-{ident}", "created": created, "model": params["model"]}
        self._parts = self._events() if params.get("stream") else iter([self._whole()])

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part

    async def close(self) -> None:
        """Holds nothing."""

    def _whole(self) -> bytes:
        message = {"role": "assistant", "content": self._text, "refusal": None}
        choices = [
            {"index": at, "message": message, "logprobs": None, "finish_reason": "stop"} for at in range(self._choices)
        ]
        return encode({**self._envelope, "object": "chat.completion", "choices": choices, "usage": USAGE})

    def _events(self) -> Iterator[bytes]:
        for at in range(self._choices):
            for delta, finish in (({"role": "assistant", "content": self._text}, None), ({}, "stop")):
                yield self._event({"choices": [{"index": at, "delta": delta, "finish_reason": finish}], "usage": None})
        yield self._event({"choices": [], "usage": USAGE})
        yield b"data: [DONE]\n\n"

    def _event(self, more: Mapping[str, Any]) -> bytes:
        return b"data: " + encode({**self._envelope, "object": "chat.completion.chunk", **more}) + b"\n\n"


def encode(value: Any) -> bytes:
    """Compact JSON, escaped to ASCII: a lone surrogate that came in can go out."""
    return json.dumps(value, separators=(",", ":")).encode()
