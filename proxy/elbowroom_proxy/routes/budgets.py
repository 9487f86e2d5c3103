"""GET /admin/budgets: what every organisation, team and key may spend, has spent and has left, as JSON.

Knows: the address and its two filters.
Does not know: who may read what (`readers`, `tally`), or where sums are kept.
"""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request, Response

from elbowroom.errors import ElbowroomError
from elbowroom_proxy import wire
from elbowroom_proxy.principal import Identify
from elbowroom_proxy.readers import reader
from elbowroom_proxy.routes.traces import HEADERS, words
from elbowroom_proxy.tally import Tally

FILTERS = ("org", "team")


def routes(tally: Tally, identify: Identify) -> APIRouter:
    """For a key with the role admin or auditor."""
    router = APIRouter()

    @router.get("/admin/budgets")
    async def budgets(request: Request) -> Response:
        try:
            who = await reader(identify, request.headers, request.client)
            said = words(request, FILTERS)
            found = await tally.budgets(who, org=said.get("org") or None, team=said.get("team") or None)
        except ElbowroomError as error:
            problem = wire.error_response(error)
            return Response(problem.body, problem.status, {**problem.headers, **HEADERS})
        return Response(msgspec.json.encode(found), headers=HEADERS, media_type="application/json")

    return router
