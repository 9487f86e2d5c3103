"""What may be read of the records, by whom; every reading is itself recorded.

Knows: that readers need a role, that a tenant sees its own only, and that a reading which cannot be recorded is none.
Does not know: how records are found (a `TraceIndex`), HTTP, or how anything is shown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from elbowroom.account.search import Filters, Overview, Page, Shown
from elbowroom.records import Principal


class Desk:
    """Asked by the command line, by `/admin/traces` and by the pages alike."""

    async def list(self, filters: Filters, reader: Principal, *, after: str | None = None, most: int = 50) -> Page:
        """The newest first. Raises `RoleNotAllowed`, `TraceUnavailable`, `InvalidRequest` for a bad `after`."""
        raise NotImplementedError

    async def show(self, ident: str, reader: Principal) -> Shown:
        """By a trace id, x-request-id or x-client-request-id. Raises `TraceNotFound`, also for another tenant's."""
        raise NotImplementedError

    async def overview(self, filters: Filters, reader: Principal) -> Overview:
        """Only `since`, `until`, `tenant`, `org` and the like narrow it: every filter that is given must hold."""
        raise NotImplementedError

    def export(self, filters: Filters, reader: Principal) -> AsyncIterator[dict[str, Any]]:
        """Every record that fits, whole, the newest first."""
        raise NotImplementedError
