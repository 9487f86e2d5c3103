"""Paths that are not there, methods that are not allowed, and what nobody foresaw: always the one shape."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from structlog.testing import capture_logs

from elbowroom_proxy.routes import errors


@pytest.fixture
async def client():
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    errors.install(app)

    @app.get("/here")
    async def here() -> str:
        return "yes"

    @app.get("/teapot")
    async def teapot() -> str:
        raise HTTPException(418)

    @app.get("/broken")
    async def broken() -> str:
        raise ValueError("a detail that is nobody's business")

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as found:
        yield found


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/here/", 404, "not_found"),
        ("GET", "/docs", 404, "not_found"),
        ("GET", "/openapi.json", 404, "not_found"),
        ("POST", "/v1/embeddings", 404, "not_found"),
        ("POST", "/here", 405, "method_not_allowed"),
        ("GET", "/teapot", 418, "invalid_request"),
        ("GET", "/broken", 500, "internal_error"),
    ],
)
async def test_every_error_has_the_one_shape(client, method, path, status, code):
    with capture_logs() as logged:
        answer = await client.request(method, path)
    assert [entry["path"] for entry in logged] == ([path] if status == 500 else [])
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert answer.json()["error"]["code"] == code
    assert "nobody's business" not in answer.text


async def test_a_wrong_method_is_told_the_right_one(client):
    assert (await client.post("/here")).headers["allow"] == "GET"
