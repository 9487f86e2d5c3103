"""/metrics, for Prometheus.

Knows: the text format's content type.
Does not know: what is measured.
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from elbowroom_proxy.metrics import CONTENT_TYPE, Metrics


def routes(metrics: Metrics) -> APIRouter:
    """The one path."""
    router = APIRouter()

    @router.get("/metrics")
    async def show() -> Response:
        return Response(metrics.render(), headers={"content-type": CONTENT_TYPE})

    return router
