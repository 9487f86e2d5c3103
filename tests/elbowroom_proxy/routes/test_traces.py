"""/admin: what auditors are told over HTTP, and what others are."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from msgspec import structs

from elbowroom.errors import InvalidApiKey
from elbowroom.records import Principal
from elbowroom_proxy.crawl import Crawl
from elbowroom_proxy.desk import Desk
from elbowroom_proxy.indexes.sqlite import SqliteIndex
from elbowroom_proxy.routes import traces
from tests.records import AUDITOR, owned, put, told

KEYS = {
    "Bearer all": AUDITOR,
    "Bearer acme": structs.replace(AUDITOR, tenant="acme"),
    "Bearer user": structs.replace(AUDITOR, role="user"),
}
PATHS = ("/admin/traces", "/admin/traces/a", "/admin/overview")


async def closed(headers):
    if headers.get("authorization") not in KEYS:
        raise InvalidApiKey("That key is not valid.")
    return KEYS[headers["authorization"]]


async def opened(headers):
    return Principal()


@pytest.fixture
async def serve(tmp_path):
    rows = [
        told("a", 1, **owned("acme")),
        told("b", 2, **owned("globex"), cited={"verified": [], "invented": ["S9"], "uncited": []}),
        told("c", 3, client_request_id="up/to \ud800"),
    ]
    put(tmp_path, *rows)
    index = SqliteIndex(tmp_path)
    crawl = Crawl(index)
    crawl.finish()
    readings: list[Any] = []
    clients: list[httpx.AsyncClient] = []

    def keep(record):
        readings.append(record)
        return True

    desk = Desk(index, crawl, keep)

    def made(identify=closed, host="127.0.0.1:8080", peer="127.0.0.1"):
        app = FastAPI()
        app.include_router(traces.routes(desk, identify))
        clients.append(
            httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(peer, 50000)), base_url=f"http://{host}")
        )
        return clients[-1]

    yield made, readings
    for client in clients:
        await client.aclose()
    index.close()


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


async def test_an_auditor_lists_shows_and_adds_up(serve):
    client = serve[0]()
    page = (await client.get("/admin/traces", headers=key("all"))).json()
    assert [one["trace_id"] for one in page["rows"]] == ["c", "b", "a"]
    assert (page["after"], page["indexed"]["records"]) == (None, 3)
    answer = await client.get("/admin/traces/a", headers=key("all"))
    assert answer.json()["record"] == told("a", 1, **owned("acme"))
    assert (answer.headers["cache-control"], answer.headers["content-type"]) == ("no-store", "application/json")
    assert (await client.get("/admin/overview", headers=key("all"))).json()["requests"] == 3
    assert [one["read"]["action"] for one in serve[1]] == ["list", "show", "overview"]


async def test_filters_and_pages_are_parameters(serve):
    client = serve[0]()
    found = (await client.get("/admin/traces?invented=yes&class=&limit=5", headers=key("all"))).json()
    assert [one["trace_id"] for one in found["rows"]] == ["b"]
    first = (await client.get("/admin/traces?limit=2", headers=key("all"))).json()
    rest = (await client.get(f"/admin/traces?limit=2&after={first['after']}", headers=key("all"))).json()
    assert [one["trace_id"] for one in (*first["rows"], *rest["rows"])] == ["c", "b", "a"]
    assert (await client.get("/admin/overview?tenant=globex", headers=key("all"))).json()["requests"] == 1


async def test_a_tenants_auditor_sees_its_own(serve):
    client = serve[0]()
    page = (await client.get("/admin/traces", headers=key("acme"))).json()
    assert [one["trace_id"] for one in page["rows"]] == ["a"]
    assert (await client.get("/admin/traces?tenant=globex", headers=key("acme"))).json()["rows"] == []
    assert (await client.get("/admin/overview", headers=key("acme"))).json()["requests"] == 1
    others, none = [await client.get(f"/admin/traces/{name}", headers=key("acme")) for name in ("b", "zzz")]
    assert (others.status_code, others.content) == (none.status_code, none.content)
    assert (others.status_code, others.json()["error"]["code"]) == (404, "trace_not_found")


async def test_an_id_of_the_clients_own_finds_it_whatever_is_in_it(serve):
    ident = quote("up/to \ud800", safe="", errors="replace")
    answer = await serve[0]().get(f"/admin/traces/{ident}", headers=key("all"))
    assert answer.json()["record"]["trace_id"] == "c"
    assert json.loads(answer.content)["record"]["client_request_id"] == "up/to \ud800"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("headers", "status", "code"), [({}, 401, "invalid_api_key"), (key("user"), 403, "role_not_allowed")]
)
async def test_nobody_else_is_told_anything(serve, path, headers, status, code):
    answer = await serve[0]().get(path, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert answer.headers["cache-control"] == "no-store"
    assert serve[1] == []


@pytest.mark.parametrize("path", PATHS)
async def test_without_keys_this_machine_reads_and_a_name_that_leads_here_does_not(serve, path):
    assert (await serve[0](opened).get(path)).status_code == 200
    for client, headers in (
        (serve[0](opened, host="evil.example"), {}),
        (serve[0](opened), {"origin": "http://evil.example"}),
        (serve[0](opened, peer="203.0.113.9"), {}),  # whatever it says of the host
    ):
        answer = await client.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("colour=red", "colour"),
        ("tenant=a&tenant=b", "tenant"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=%D9%A3", "limit"),
        ("after=x", "after"),
        ("since=soon", "since"),
    ],
)
async def test_a_parameter_that_cannot_be_is_named(serve, query, param):
    answer = await serve[0]().get(f"/admin/traces?{query}", headers=key("all"))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


async def test_an_overview_has_no_pages(serve):
    answer = await serve[0]().get("/admin/overview?limit=3", headers=key("all"))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "limit")
