"""What may be read of the records, by whom; every reading is itself recorded.

Knows: that a tenant sees its own only, what is recorded of a reading, and that one which cannot be recorded is none.
Does not know: how records are found (a `TraceIndex`), which roles read (`readers`), HTTP, or how anything is shown.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from elbowroom.account.row import READ, SHADOW
from elbowroom.account.search import Filters, Indexed, Overview, Page, Shown
from elbowroom.account.trace import VERSION
from elbowroom.budget.limits import Limits
from elbowroom.errors import TraceNotFound, TraceUnavailable
from elbowroom.records import Principal
from elbowroom_proxy.crawl import Crawl, line_at
from elbowroom_proxy.ports import TraceIndex
from elbowroom_proxy.readers import scope

MOST = 500  # rows of a page

T = TypeVar("T")


async def always() -> bool:
    """Of whoever says himself what did not reach the disk."""
    return True


class Desk:
    """Asked by the command line, by `/admin/traces` and by the pages alike.

    Every call raises `RoleNotAllowed`, and `TraceUnavailable` where records cannot be read or the reading not recorded.
    """

    def __init__(
        self,
        index: TraceIndex,
        crawl: Crawl,
        keep: Callable[[Mapping[str, Any]], bool],
        *,
        ready: Callable[[], Awaitable[bool]] = always,
        limits: Callable[[str], Limits | None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`keep` records a reading, False where it cannot; `ready`: whether what it takes would reach the disk now.
        `limits`: an organisation's. `now`: seconds since 1970.
        """
        self._index = index
        self._crawl = crawl
        self._keep = keep
        self._ready = ready
        self._limits = limits
        self._now = now
        self._adding_up = asyncio.Lock()  # one at a time: it takes a core

    @property
    def now(self) -> int:
        """Milliseconds since 1970: what filters of time are held against."""
        return round(self._now() * 1000)

    async def list(self, filters: Filters, reader: Principal, *, after: str | None = None, most: int = 50) -> Page:
        """The newest first. Raises `InvalidRequest` for an `after` that is no page's."""
        whose = scope(reader)
        page = await _read(
            lambda: self._page(self._index.page(filters, whose, after=after, most=max(1, min(most, MOST))))
        )
        await self._record("list", reader, found=len(page.rows), filters=filters, after=after)
        return page

    async def show(self, ident: str, reader: Principal) -> Shown:
        """By a trace id, x-request-id or x-client-request-id; the latest, where several have it.

        Raises `TraceNotFound`, for another tenant's as well.
        """
        whose = scope(reader)

        def find() -> Shown | None:
            found = self._index.find(ident, whose)
            record = line_at(found[1], found[0].trace_id) if found else None
            if found is None or record is None:
                return None
            return Shown(found[0], record, self._crawl.indexed(self._index.indexed(whose)))

        shown = await _read(find)
        await self._record("show", reader, found=int(shown is not None), id=shown.row.trace_id if shown else ident)
        if shown is None:
            raise TraceNotFound("There is no trace with that id.")
        return shown

    async def proposal(self, shown: Shown, reader: Principal) -> Mapping[str, Any] | None:
        """The record of what the policy would have made of a request in shadow; None where there is none. It belongs to
        the reading that showed the request.
        """
        ident, whose = shown.row.trace_id, scope(reader)

        def find() -> Mapping[str, Any] | None:
            found = self._index.each(Filters(id=ident, kind=SHADOW), whose)
            return next((line_at(place, ident) for row, place in found if row.trace_id == ident), None)

        return await _read(find)

    async def reach(self, reader: Principal) -> Indexed:
        """How far the index reaches. That is no reading: it tells of no record but when the latest was."""
        whose = scope(reader)
        return await _read(lambda: self._crawl.indexed(self._index.indexed(whose)))

    async def overview(self, filters: Filters, reader: Principal) -> Overview:
        """All requests that fit, added up. What an organisation may take in a period stands beside what it took."""
        whose = scope(reader)

        def add_up() -> Overview:
            found = self._index.overview(filters, whose)
            orgs = tuple(
                structs.replace(one, limits=self._limits(one.org)) if one.org is not None else one for one in found.orgs
            )
            return structs.replace(found, orgs=orgs, indexed=self._crawl.indexed(found.indexed))

        async with self._adding_up:
            overview = await _read(add_up)
        await self._record("overview", reader, found=overview.requests, filters=filters)
        return overview

    async def export(self, filters: Filters, reader: Principal) -> AsyncIterator[Shown]:
        """Every record that fits, whole, the newest first. A record that went in the meantime is passed over."""
        whose = scope(reader)
        indexed = await _read(lambda: self._crawl.indexed(self._index.indexed(whose)))
        count = await _read(lambda: self._index.count(filters, whose))
        await self._record("export", reader, found=count, filters=filters)
        found = self._index.each(filters, whose)

        def following() -> Shown | None:
            for row, place in found:
                if (record := line_at(place, row.trace_id)) is not None:
                    return Shown(row, record, indexed)
            return None

        while (shown := await _read(following)) is not None:
            yield shown

    def _page(self, page: Page) -> Page:
        return structs.replace(page, indexed=self._crawl.indexed(page.indexed))

    async def _record(
        self,
        action: str,
        reader: Principal,
        *,
        found: int,
        filters: Filters | None = None,
        **more: str | None,
    ) -> None:
        """Who read what, when, and how much there was."""
        asked = msgspec.to_builtins(filters) if filters is not None else {}
        usual = msgspec.to_builtins(Filters())
        sought = {name: value for name, value in asked.items() if value != usual[name]}
        told = reading(action, reader, self._now(), found=found, sought=sought, **more)
        if not await self._ready() or not self._keep(told):
            raise TraceUnavailable("This reading cannot be recorded at the moment, so it is none. Try again.")


def reading(
    action: str, reader: Principal, now: float, *, found: int, sought: Mapping[str, Any], **more: str | None
) -> dict[str, Any]:
    """The record of a reading. `now`: seconds since 1970."""
    return {
        "version": VERSION,
        "kind": READ,
        "trace_id": token_hex(16),
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "subject": reader.subject,
        "tenant": reader.tenant,
        "principal": {"org": reader.org, "team": reader.team, "role": reader.role},
        "read": {
            "action": action,
            "found": found,
            "filters": dict(sought),
            **{name: value for name, value in more.items() if value is not None},
        },
    }


async def _read(work: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise TraceUnavailable("The index of traces cannot be read at the moment.") from error
