"""The application, whose busiest paths are answered before all that stands in front of its routes.

Knows: which paths those are, that only POST is meant, and that an unforeseen error there looks as it does elsewhere.
Does not know: what an endpoint does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send


class Hot(FastAPI):
    """FastAPI, which looks through routes, watches for files and telemetry with every request; a chat needs none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._hot: dict[str, ASGIApp] = {}

    def answer_first(self, endpoints: Mapping[str, ASGIApp]) -> None:
        """POST to these paths goes straight to their endpoints. To be said after the error handlers are known."""
        handler: Any = self.exception_handlers.get(Exception)
        self._hot = {path: ServerErrorMiddleware(one, handler=handler) for path, one in endpoints.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            endpoint = self._hot.get(scope["path"])
            if endpoint is not None:
                await endpoint(scope, receive, send)
                return
        await super().__call__(scope, receive, send)
