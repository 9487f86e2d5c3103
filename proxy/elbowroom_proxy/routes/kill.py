"""POST /admin/kill turns the kill switch, GET /admin/kill says how it stands.

Knows: that an admin's key is needed, or this machine where there are no keys; that one source which took the word
suffices, and that none is a 503; that who turned it or asked is recorded.
Does not know: what the sources are, or what being killed means.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
import structlog
from fastapi import APIRouter, Request, Response
from msgspec import Meta, Struct

from elbowroom.errors import ElbowroomError, InvalidRequest, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy import wire
from elbowroom_proxy.desk import reading
from elbowroom_proxy.kill import Kill
from elbowroom_proxy.killword import LONGEST_REASON, Word
from elbowroom_proxy.principal import Identify
from elbowroom_proxy.readers import check_own_machine

LARGEST = 4096  # bytes of a body

log = structlog.get_logger("elbowroom")


class _Asked(Struct, frozen=True, forbid_unknown_fields=True):
    on: bool
    reason: Annotated[str, Meta(max_length=LONGEST_REASON)] = ""


class SwitchUnwritten(ElbowroomError):
    """No source of the kill switch could be written."""

    code = "kill_switch_unavailable"
    status_hint = 503


def routes(
    kill: Kill, identify: Identify, keep: Callable[[Mapping[str, Any]], bool], now: Callable[[], float] = time.time
) -> APIRouter:
    """Both ways of asking. `keep` records who did. `now`: seconds since 1970."""
    router = APIRouter()

    def recorded(who: Principal, found: bool, sought: Mapping[str, Any]) -> None:
        # The switch is turned even where that cannot be recorded; then the log alone has it.
        if not keep(reading("kill", who, now(), found=int(found), sought=sought)):
            log.error("kill_switch_unrecorded", by=who.subject)

    @router.get("/admin/kill")
    async def status(request: Request) -> Response:
        try:
            who = await _admin(identify, request)
        except ElbowroomError as error:
            return _refused(error)
        recorded(who, kill.said().killed, {})
        return _told(kill, {})

    @router.post("/admin/kill")
    async def turn(request: Request) -> Response:
        try:
            who = await _admin(identify, request)
            asked = await _read(request)
            faults = await kill.say(Word(asked.on, asked.reason))
            log.warning("kill_switch", on=asked.on, reason=asked.reason, by=who.subject, faults=faults)
            recorded(who, not all(faults.values()), {"on": asked.on, "reason": asked.reason})
            if all(faults.values()):
                told = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
                raise SwitchUnwritten(f"The kill switch could not be written anywhere: {told}.")
        except ElbowroomError as error:
            return _refused(error)
        return _told(kill, faults)

    return router


async def _admin(identify: Identify, request: Request) -> Principal:
    """Who asks. Raises where that is nobody who may."""
    found = await identify(request.headers)
    if not found.keyed:
        check_own_machine(request.headers, request.client)
    elif found.role != "admin":
        raise RoleNotAllowed("This key may not turn the kill switch: it needs the role admin.")
    elif found.tenant is not None or found.org is not None:
        raise RoleNotAllowed("The kill switch is everybody's: an admin of one tenant or organisation may not turn it.")
    return found


async def _read(request: Request) -> _Asked:
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise InvalidRequest("The body is too long.")
    try:
        return msgspec.json.decode(data, type=_Asked)
    except msgspec.DecodeError as error:
        raise InvalidRequest(f'The body must be {{"on": true or false, "reason": "..."}}: {error}.') from None


def _told(kill: Kill, faults: Mapping[str, str]) -> Response:
    said = kill.said()
    value = {
        "killed": said.killed,
        "sources": {
            name: {"on": word.on, "reason": word.reason, **({"fault": faults[name]} if faults.get(name) else {})}
            for name, word in said.sources.items()
        },
    }
    return Response(msgspec.json.encode(value), media_type="application/json")


def _refused(error: ElbowroomError) -> Response:
    problem = wire.error_response(error)
    return Response(problem.body, problem.status, problem.headers)
