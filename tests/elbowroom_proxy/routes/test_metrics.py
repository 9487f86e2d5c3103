"""What Prometheus gets."""

from __future__ import annotations

import httpx
from fastapi import FastAPI

from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.routes import metrics


async def test_the_text_format_of_what_was_counted():
    counted = Metrics()
    counted.traces_lost.inc(3)
    app = FastAPI()
    app.include_router(metrics.routes(counted))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy") as client:
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "elbowroom_traces_lost_total 3.0" in answer.text
