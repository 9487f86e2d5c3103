"""The busiest paths are answered first, and all else of them is as if they were not."""

from __future__ import annotations

import httpx
import pytest
from starlette.routing import Route
from structlog.testing import capture_logs

from elbowroom_proxy.routes import errors
from elbowroom_proxy.routes.hot import Hot


async def endpoint(scope, receive, send):
    if scope["query_string"]:
        raise ValueError("a detail that is nobody's business")
    assert "router" not in scope  # nothing was looked through
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"first"})


@pytest.fixture
async def client():
    app = Hot(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    errors.install(app)
    app.answer_first({"/hot": endpoint})
    app.router.routes.append(Route("/hot", endpoint, methods=["POST"]))

    @app.post("/cold")
    async def cold() -> str:
        return "cold"

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as found:
        yield found


async def test_what_is_posted_there_is_answered_first(client):
    assert (await client.post("/hot")).text == "first"
    assert (await client.post("/cold")).json() == "cold"


async def test_another_method_is_told_the_right_one(client):
    answer = await client.get("/hot")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_what_nobody_foresaw_looks_as_it_does_elsewhere(client):
    with capture_logs() as logged:
        answer = await client.post("/hot?broken")
    assert [entry["path"] for entry in logged] == ["/hot"]
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "nobody's business" not in answer.text
