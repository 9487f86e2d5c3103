"""GET /admin/traces, /admin/traces/{id} and /admin/overview: what was recorded, for auditors, as JSON.

Knows: the addresses, and that filters are query parameters by the names that the command line has.
Does not know: who may read what (`readers`, `desk`), or how records are found.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from elbowroom.account.search import NAMES, Filters, read_filters
from elbowroom.errors import ElbowroomError, InvalidRequest
from elbowroom.records import Principal
from elbowroom_proxy import wire
from elbowroom_proxy.desk import MOST, Desk
from elbowroom_proxy.principal import Identify
from elbowroom_proxy.readers import reader

HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_PAGING = ("after", "limit")


def routes(desk: Desk, identify: Identify) -> APIRouter:
    """The three, each for a key with the role auditor or admin."""
    router = APIRouter()

    async def answer(request: Request, work: Callable[[Principal], Awaitable[Any]]) -> Response:
        try:
            found = await work(await reader(identify, request.headers, request.client))
        except ElbowroomError as error:
            problem = wire.error_response(error)
            return Response(problem.body, problem.status, {**problem.headers, **HEADERS})
        # ASCII: a client's id may hold what UTF-8 cannot say.
        body = json.dumps(msgspec.to_builtins(found))
        return Response(body, headers=HEADERS, media_type="application/json")

    @router.get("/admin/traces")
    async def traces(request: Request) -> Response:
        async def work(who: Principal) -> Any:
            said = words(request, (*NAMES, *_PAGING))
            after, limit = said.pop("after", None), _limit(said.pop("limit", "50"))
            return await desk.list(read_filters(said, desk.now), who, after=after or None, most=limit)

        return await answer(request, work)

    @router.get("/admin/overview")
    async def overview(request: Request) -> Response:
        async def work(who: Principal) -> Any:
            return await desk.overview(_filters(request, desk.now), who)

        return await answer(request, work)

    @router.get("/admin/traces/{ident:path}")
    async def trace(ident: str, request: Request) -> Response:
        return await answer(request, lambda who: desk.show(ident, who))

    return router


def _filters(request: Request, now: int) -> Filters:
    return read_filters(words(request, NAMES), now)


def words(request: Request, known: tuple[str, ...]) -> dict[str, str]:
    """The query's, each once. Raises `InvalidRequest` for one that is not `known`."""
    found: dict[str, str] = {}
    for name, word in request.query_params.multi_items():
        if name in found:
            raise InvalidRequest(f"{name} is given twice.", param=name)
        if name not in known:
            raise InvalidRequest(f"There is no parameter {name}; there are {', '.join(known)}.", param=name)
        found[name] = word
    return found


def _limit(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and 1 <= int(word[:9]) <= MOST):
        raise InvalidRequest(f"limit is a number from 1 to {MOST}.", param="limit")
    return int(word)
