"""The review desk: the list of requests, one of them, an overview, the sweep's curve. GET only, but for replays.

Knows: the pages' addresses, and what each is made from.
Does not know: who may read what (`desk`), how one logs in (`door`), or how a page looks (`pages`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Struct

from elbowroom.account.search import NAMES, Shown, read_filters
from elbowroom.errors import ElbowroomError, InvalidRequest, TraceNotFound
from elbowroom.read.policy import Policy
from elbowroom.records import Principal
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.pages import listing, overview, proposal, sweep, templating, trace
from elbowroom_proxy.replaying import Again, Asked
from elbowroom_proxy.routes.door import DESK, KEPT_NOWHERE, SAFE, Door, Visitor, guarded, html

ROWS = 50
RANGE = frozenset({"since", "until", "tenant", "org", "class", "model"})  # the filters of the overview
_NAMED = ("reasons", "classes", "models", "modes", "codes")

Values = dict[str, Any]


class Review(Struct, frozen=True):
    """What the pages are made from."""

    desk: Desk
    door: Door
    again: Callable[[], Again]  # under the configuration in force
    policy: Callable[[Principal], Policy]  # that is in force for a principal
    captured: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] = lambda _: None  # a record's texts
    instruction: Callable[[str], str | None] = lambda _: None  # what is stored of a system text, by its digest
    most: int = 32 << 20  # bytes of a body that is supplied
    sweep: Path | None = None  # the folder that `elbowroom sweep --out` writes to


def routes(review: Review) -> APIRouter:
    """All pages; logging in and out as well."""
    router, pages = APIRouter(), Pages(review)
    router.include_router(review.door.routes())
    for at, page, methods in (
        (templating.STYLE_AT, style, ["GET"]),
        (DESK, pages.requests, ["GET"]),
        (f"{DESK}/", home, ["GET"]),
        (f"{DESK}/overview", pages.overview, ["GET"]),
        (f"{DESK}/traces/{{ident:path}}", pages.trace, ["GET"]),
        (f"{DESK}/traces/{{ident:path}}/replay", pages.replay, ["POST"]),
        (f"{DESK}/sweep", pages.sweep, ["GET"]),
        (f"{DESK}/sweep.svg", pages.curve, ["GET"]),
        (f"{DESK}/{{rest:path}}", pages.nothing, ["GET"]),
    ):
        router.add_api_route(at, page, methods=methods)
    return router


async def style() -> Response:
    """The one style sheet. It is no secret, and the login needs it."""
    headers = {**SAFE, "cache-control": "public, max-age=31536000, immutable"}
    return Response(templating.STYLE, headers=headers, media_type="text/css; charset=utf-8")


async def home() -> Response:
    """Who typed one stroke too many."""
    return Response(status_code=308, headers={**SAFE, **KEPT_NOWHERE, "location": DESK})


class Pages:
    """One method a page."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._turns = asyncio.Lock()  # one replay at a time: it takes a core

    async def requests(self, request: Request) -> Response:
        """The list."""
        desk = self._review.desk

        async def make(visitor: Visitor) -> Values:
            said = listing.words(request.query_params)
            after = request.query_params.get("after") or None
            found = await desk.list(read_filters(said, desk.now), visitor.reader, after=after, most=ROWS)
            return {
                "here": "list",
                "page": found,
                "said": _all(said),
                "chips": listing.chips(said),
                "flags": listing.flags,
                "kinds": listing.KINDS,
                "modes": listing.MODES,
                "reasons": listing.REASONS,
                "first": listing.address(said) if after else None,
                "onward": listing.onward(said, found.after),
            }

        return await self._page(request, "list.html", make)

    async def overview(self, request: Request) -> Response:
        """All requests of a range."""
        desk = self._review.desk

        async def make(visitor: Visitor) -> Values:
            said = {name: word for name, word in listing.words(request.query_params).items() if name in RANGE}
            view = await desk.overview(read_filters(said, desk.now), visitor.reader)
            return {
                "here": "overview",
                "said": _all(said),
                "view": view,
                "uses": overview.uses(view),
                "hours": overview.hours(view.hours),
                "count_columns": overview.histogram(view.count_error),
                "overhead_columns": overview.histogram(view.overhead_ms),
                "signed": templating.signed,
                "ms": templating.ms,
                **{name: overview.lines(getattr(view, name)) for name in _NAMED},
            }

        return await self._page(request, "overview.html", make)

    async def trace(self, ident: str, request: Request) -> Response:
        """One request."""

        async def make(visitor: Visitor) -> Values:
            shown = await self._review.desk.show(ident, visitor.reader)
            return await self._trace(shown, visitor.reader)

        return await self._page(request, "trace.html", make)

    async def replay(self, ident: str, request: Request) -> Response:
        """The same, decided again under the policy in force."""

        async def make(visitor: Visitor) -> Values:
            said = await self._review.door.form(request, visitor, 3 * self._review.most)
            shown = await self._review.desk.show(ident, visitor.reader)
            supplied = said.get("body")
            values = {**await self._trace(shown, visitor.reader), "supplied": supplied}
            try:
                asked = await asyncio.to_thread(self._asked, supplied, shown.record)
                return {**values, **await self._compared(shown, asked)}
            except ElbowroomError as error:
                return {**values, "replay_fault": error.message}

        return await self._page(request, "trace.html", make)

    async def sweep(self, request: Request) -> Response:
        """The curve that was drawn last, and its table."""

        async def make(_: Visitor) -> Values:
            written = await asyncio.to_thread(self._drawn, "sweep.md") or b""
            return {"here": "sweep", "table": sweep.table(written.decode("utf-8", "replace"))}

        return await self._page(request, "sweep.html", make)

    async def curve(self, request: Request) -> Response:
        """The picture itself. As an image it runs nothing."""

        async def work() -> Response:
            await self._review.door.visitor(request)
            drawing = await asyncio.to_thread(self._drawn, "sweep.svg")
            if drawing is None:
                raise TraceNotFound("Nothing was drawn yet.")
            return Response(drawing, headers={**SAFE, **KEPT_NOWHERE}, media_type="image/svg+xml")

        return await guarded(request, work)

    async def nothing(self, request: Request) -> Response:
        """Whatever else is asked for below the desk."""

        async def make(_: Visitor) -> Values:
            raise TraceNotFound("There is no such page.")

        return await self._page(request, "problem.html", make)

    async def _page(self, request: Request, template: str, make: Callable[[Visitor], Awaitable[Values]]) -> Response:
        async def work() -> Response:
            visitor = await self._review.door.visitor(request)
            drawn = self._review.sweep
            common: Values = {
                "reader": visitor.reader,
                "form_token": visitor.form_token,
                "here": "",
                "curve": drawn is not None and await asyncio.to_thread((drawn / "sweep.svg").is_file),
            }
            return html(template, {**common, **await make(visitor)})

        return await guarded(request, work)

    async def _trace(self, shown: Shown, reader: Principal) -> Values:
        record, review = shown.record, self._review
        captured = await asyncio.to_thread(review.captured, record)
        made = await asyncio.to_thread(trace.page, record, captured, review.instruction)
        proposed = await review.desk.proposal(shown, reader) if record.get("shadow") else None
        return {
            "page": made,
            "proposal": proposal.proposal(record, proposed),
            "indexed_to": shown.indexed,
            "captured": captured is not None,
            "can_replay": record.get("policy") is not None,
            "not_captured": trace.NOT_CAPTURED,
            "no_replay": trace.why_no_replay(record),
            "raw": json.dumps(msgspec.to_builtins(record), ensure_ascii=False, indent=2),
            "compared": None,
            "replay_fault": None,
            "supplied": None,
        }

    def _asked(self, body: str | None, record: Mapping[str, Any]) -> Asked:
        """The supplied body, else the captured one."""
        if body is not None:
            return Asked(body.encode("utf-8", "surrogatepass"))
        captured = self._review.captured(record)
        if captured is None:
            raise InvalidRequest("The request was not captured, so it has to be supplied.")
        return Asked.of(captured)

    async def _compared(self, shown: Shown, asked: Asked) -> Values:
        """What the policy in force makes of it. Raises `ElbowroomError` for a body that is no request."""
        current = self._review.policy(_principal(shown.record))
        async with self._turns:
            compared = await asyncio.to_thread(self._review.again().told, shown.record, asked, current)
        same = (shown.record.get("policy") or {}).get("digest") == current.digest
        return {"compared": compared, "current": current, "same_policy": same}

    def _drawn(self, name: str) -> bytes | None:
        file = self._review.sweep / name if self._review.sweep is not None else None
        return file.read_bytes() if file is not None and file.is_file() else None


def _all(said: Mapping[str, str]) -> dict[str, str]:
    return {**dict.fromkeys(NAMES, ""), **said}


def _principal(record: Mapping[str, Any]) -> Principal:
    return msgspec.convert(record["principal"], Principal) if record.get("principal") else Principal()
