"""GET /v1/models and /v1/models/{id}: what may be asked for, as OpenAI's clients read it.

Knows: the catalog, that an id may have slashes in it, and that a key may be for some models only.
Does not know: which upstream answers for a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from elbowroom.errors import ElbowroomError
from elbowroom.read.catalog import Catalog
from elbowroom.records import Model
from elbowroom_proxy import wire
from elbowroom_proxy.principal import Identify


def routes(current: Callable[[], Catalog], identify: Identify) -> APIRouter:
    """With and without `/v1`. Who may use some only is told of those. `current` is asked for with every call."""
    router = APIRouter()

    async def allowed(request: Request) -> Catalog:
        found, catalog = (await identify(request.headers)).models, current()
        if found is None:
            return catalog
        return Catalog({name: catalog.by_name[name] for name in found if name in catalog.by_name})

    @router.get("/models")
    @router.get("/v1/models")
    async def models(request: Request) -> Response:
        try:
            return _json({"object": "list", "data": [_card(model) for model in (await allowed(request)).models]})
        except ElbowroomError as error:
            return _refused(error)

    @router.get("/models/{name:path}")
    @router.get("/v1/models/{name:path}")
    async def model(name: str, request: Request) -> Response:
        try:
            return _json(_card((await allowed(request)).find(name)))
        except ElbowroomError as error:
            return _refused(error)

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


def _refused(error: ElbowroomError) -> Response:
    problem = wire.error_response(error)
    return Response(problem.body, problem.status, problem.headers)


def _json(value: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
