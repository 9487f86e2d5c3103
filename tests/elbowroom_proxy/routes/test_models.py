"""What may be asked for, as OpenAI's clients read it."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from elbowroom.errors import InvalidApiKey
from elbowroom.read.catalog import Catalog, LitellmParams, ModelInfo, ModelRow
from elbowroom.records import Principal
from elbowroom_proxy.routes import models

INFO = ModelInfo(context_window=8192, max_output_tokens=1024)


@pytest.fixture
async def client():
    names = ("plain", "org/team/model")
    rows = [ModelRow(name, LitellmParams("openai/gpt-4o", api_key="secret"), INFO) for name in names]
    app = FastAPI()

    async def identify(headers):
        if headers.get("authorization") == "Bearer nobody":
            raise InvalidApiKey("That key is not valid.")
        return Principal(models=("org/team/model",) if "authorization" in headers else None)

    app.include_router(models.routes(lambda: Catalog.of(rows), identify))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://proxy") as found:
        yield found


@pytest.mark.parametrize("base", ["", "/v1"])
async def test_all_models_in_the_operators_order(client, base):
    value = (await client.get(f"{base}/models")).json()
    assert value["object"] == "list"
    assert [model["id"] for model in value["data"]] == ["plain", "org/team/model"]


@pytest.mark.parametrize("base", ["", "/v1"])
@pytest.mark.parametrize("name", ["plain", "org/team/model", "org%2Fteam%2Fmodel"])
async def test_one_model_its_name_with_slashes_or_without(client, base, name):
    answer = await client.get(f"{base}/models/{name}")
    assert answer.json() == {
        "id": name.replace("%2F", "/"),
        "object": "model",
        "created": 0,
        "owned_by": "elbowroom",
        "context_window": 8192,
        "max_output_tokens": 1024,
    }


async def test_a_model_that_is_not_there(client):
    answer = await client.get("/v1/models/org/other")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


async def test_nothing_of_where_a_model_is_comes_out(client):
    assert "secret" not in (await client.get("/v1/models")).text


async def test_a_key_is_told_of_its_own_models(client):
    some = {"authorization": "Bearer some"}
    assert [one["id"] for one in (await client.get("/v1/models", headers=some)).json()["data"]] == ["org/team/model"]
    assert (await client.get("/v1/models/plain", headers=some)).status_code == 404
    assert (await client.get("/v1/models/org/team/model", headers=some)).status_code == 200


@pytest.mark.parametrize("path", ["/v1/models", "/models/plain"])
async def test_without_a_valid_key_nobody_is_told(client, path):
    answer = await client.get(path, headers={"authorization": "Bearer nobody"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert answer.headers["www-authenticate"] == "Bearer"
