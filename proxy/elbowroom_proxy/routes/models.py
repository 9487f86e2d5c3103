"""GET /v1/models and /v1/models/{id}: what may be asked for, as OpenAI's clients read it.

Knows: the catalog, and that an id may have slashes in it.
Does not know: which upstream answers for a model.
"""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Response

from elbowroom.errors import ModelNotFound
from elbowroom.read.catalog import Catalog
from elbowroom.records import Model
from elbowroom_proxy import wire


def routes(catalog: Catalog) -> APIRouter:
    """With and without `/v1`."""
    router = APIRouter()

    @router.get("/models")
    @router.get("/v1/models")
    async def models() -> Response:
        return _json({"object": "list", "data": [_card(model) for model in catalog.models]})

    @router.get("/models/{name:path}")
    @router.get("/v1/models/{name:path}")
    async def model(name: str) -> Response:
        try:
            return _json(_card(catalog.find(name)))
        except ModelNotFound as error:
            problem = wire.error_response(error)
            return Response(problem.body, problem.status, problem.headers)

    return router


def _card(model: Model) -> dict[str, Any]:
    return {
        "id": model.name,
        "object": "model",
        "created": 0,
        "owned_by": "elbowroom",
        "context_window": model.context_window,
        "max_output_tokens": model.max_output_tokens,
    }


def _json(value: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
