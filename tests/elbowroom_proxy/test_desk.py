"""The desk: a tenant's reader sees its own whatever is asked, and no reading goes unrecorded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from elbowroom.account.row import row
from elbowroom.account.search import Filters
from elbowroom.budget.limits import Limits
from elbowroom.errors import InvalidRequest, RoleNotAllowed, TraceNotFound, TraceUnavailable
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.desk import MOST, Desk
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.sinks.line import encode
from tests.records import AUDITOR, FIRST, owned, put, told

ACME = structs.replace(AUDITOR, subject="acme's", tenant="acme")
TENANTS = {"a": "acme", "b": "globex", "c": None, "d": "acme"}


class Office:
    """A desk over a folder, and what it recorded."""

    def __init__(self, folder, *, full=False):
        put(folder, *(told(name, at, **owned(tenant, "o")) for at, (name, tenant) in enumerate(TENANTS.items())))
        self.index = SqliteIndex(folder)
        self.readings: list[dict[str, Any]] = []
        crawl = Crawl(self.index)
        crawl.finish()
        self.desk = Desk(
            self.index,
            crawl,
            self._keep,
            ready=self._ready,
            limits=lambda org: Limits(tokens=9),
            now=lambda: 1_772_000_000.5,
        )
        self.full = full
        self.ready = True

    def _keep(self, record):
        self.readings.append(record)
        return not self.full

    async def _ready(self):
        return self.ready


@pytest.fixture
def office(tmp_path):
    made = Office(tmp_path)
    yield made
    made.index.close()


def names(rows) -> str:
    return "".join(one.trace_id for one in rows)


async def test_a_page_is_listed_and_that_is_recorded(office):
    page = await office.desk.list(Filters(tenant="acme"), AUDITOR)
    assert names(page.rows) == "da"
    (reading,) = office.readings
    assert reading["read"] == {"action": "list", "found": 2, "filters": {"tenant": "acme"}}
    assert (reading["kind"], reading["subject"], reading["time"][:19]) == ("read", "ann", "2026-02-25T06:13:20")
    line = row(encode(reading))
    assert line is not None
    assert line.read == "list tenant=acme: 2"


async def test_pages_go_on_and_are_no_longer_than_they_may_be(office):
    first = await office.desk.list(Filters(), AUDITOR, most=3)
    rest = await office.desk.list(Filters(), AUDITOR, most=MOST + 1, after=first.after)
    assert (names(first.rows), names(rest.rows)) == ("dcb", "a")
    assert names((await office.desk.list(Filters(), AUDITOR, most=0)).rows) == "d"
    assert office.readings[1]["read"]["after"] == first.after
    with pytest.raises(InvalidRequest):
        await office.desk.list(Filters(), AUDITOR, after="x")


async def test_a_proposal_belongs_to_its_request_and_its_tenant(tmp_path):
    (tmp_path / "traces").mkdir()
    office = Office(tmp_path / "traces")
    put(tmp_path / "traces", {**told("b", 7, **owned("globex", "o")), "kind": "shadow", "notes": ["proposed"]})
    Crawl(office.index).finish()
    shown = await office.desk.show("b", AUDITOR)
    found = await office.desk.proposal(shown, AUDITOR)
    assert found is not None
    assert (found["kind"], found["notes"]) == ("shadow", ["proposed"])
    assert await office.desk.proposal(shown, ACME) is None
    assert await office.desk.proposal(await office.desk.show("a", AUDITOR), AUDITOR) is None
    assert [one["read"]["action"] for one in office.readings] == ["show", "show"]
    office.index.close()


@pytest.mark.parametrize("ident", ["b", "req_b"])
async def test_one_is_shown_whole(office, ident):
    shown = await office.desk.show(ident, AUDITOR)
    assert shown.record == told("b", 1, **owned("globex", "o"))
    assert shown.indexed.records == 4
    assert office.readings[0]["read"] == {"action": "show", "found": 1, "filters": {}, "id": "b"}


@pytest.mark.parametrize("ident", ["b", "c", "req_b", "none"])
async def test_anothers_and_none_are_told_alike_and_recorded(office, ident):
    with pytest.raises(TraceNotFound) as caught:
        await office.desk.show(ident, ACME)
    assert caught.value.message == "There is no trace with that id."
    assert office.readings[0]["read"] == {"action": "show", "found": 0, "filters": {}, "id": ident}


async def test_a_record_that_went_since_it_was_indexed_is_not_there(office, tmp_path):
    (tmp_path / FIRST).unlink()
    with pytest.raises(TraceNotFound):
        await office.desk.show("a", AUDITOR)
    assert [one async for one in office.desk.export(Filters(), AUDITOR)] == []


async def test_all_is_added_up_beside_what_may_be_spent(office):
    overview = await office.desk.overview(Filters(), ACME)
    assert overview.requests == 2
    assert [(one.org, one.limits) for one in overview.orgs] == [("o", Limits(tokens=9))]
    assert office.readings[0]["read"] == {"action": "overview", "found": 2, "filters": {}}


async def test_nobodys_organisation_has_no_limits(office, tmp_path):
    put(tmp_path, told("e"))
    Crawl(office.index).finish()
    overview = await office.desk.overview(Filters(), AUDITOR)
    assert [(one.org, one.limits is None) for one in overview.orgs] == [(None, True), ("o", False)]


async def test_everything_is_exported_and_that_is_recorded_first(office):
    exported = office.desk.export(Filters(tenant="acme"), AUDITOR)
    assert [one.record["trace_id"] async for one in exported] == ["d", "a"]
    assert office.readings[0]["read"] == {"action": "export", "found": 2, "filters": {"tenant": "acme"}}


async def test_how_far_it_reaches_is_no_reading(office):
    assert (await office.desk.reach(ACME)).records == 2
    assert office.readings == []
    assert office.desk.now == 1_772_000_000_500


async def call(desk: Desk, action: str, reader) -> Any:
    if action == "list":
        return await desk.list(Filters(), reader)
    if action == "show":
        return await desk.show("a", reader)
    if action == "overview":
        return await desk.overview(Filters(), reader)
    return [one async for one in desk.export(Filters(), reader)]


ACTIONS = ("list", "show", "overview", "export")


@pytest.mark.parametrize("action", ACTIONS)
async def test_what_cannot_be_recorded_is_not_read(office, action):
    office.full = True
    with pytest.raises(TraceUnavailable):
        await call(office.desk, action, AUDITOR)
    office.full, office.ready, office.readings = False, False, []  # it would be taken, and lost on its way to the disk
    with pytest.raises(TraceUnavailable):
        await call(office.desk, action, AUDITOR)
    assert office.readings == []


@pytest.mark.parametrize("action", ACTIONS)
async def test_without_a_role_nothing_is_read_and_nothing_recorded(office, action):
    with pytest.raises(RoleNotAllowed):
        await call(office.desk, action, structs.replace(AUDITOR, role="user"))
    assert office.readings == []


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_disk_that_fails_is_said(office, action, monkeypatch):
    def fail(*_, **__):
        raise OSError("gone")

    for name in ("page", "find", "overview", "indexed"):
        monkeypatch.setattr(office.index, name, fail)
    with pytest.raises(TraceUnavailable):
        await call(office.desk, action, AUDITOR)


@given(
    tenant=st.sampled_from(["acme", "globex", "nobody"]),
    wanted=st.sampled_from([None, "acme", "globex", "nobody"]),
    ident=st.sampled_from([None, *TENANTS]),
)
async def test_whatever_is_asked_a_tenants_reader_sees_its_own_only(tmp_path_factory, tenant, wanted, ident):
    office = Office(tmp_path_factory.mktemp("office"))
    reader = structs.replace(AUDITOR, tenant=tenant)
    filters = Filters(tenant=wanted, id=ident)
    own = [name for name, of in TENANTS.items() if of == tenant]
    page = await office.desk.list(filters, reader)
    exported = [one.row.trace_id async for one in office.desk.export(filters, reader)]
    overview = await office.desk.overview(filters, reader)
    office.index.close()
    assert set(names(page.rows)) <= set(own)
    assert names(page.rows) == "".join(exported)
    assert overview.requests == len(exported)
    assert (page.indexed.records, page.indexed.folders) == (len(own), ())
