from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from elbowroom.errors import InvalidApiKey
from elbowroom.records import Principal
from elbowroom_proxy.kill import Kill
from elbowroom_proxy.metrics import Metrics
from elbowroom_proxy.routes import kill as routes
from elbowroom_proxy.stores.killfile import KillFile

KEYS = {
    "Bearer admin": Principal("boss", role="admin", keyed=True),
    "Bearer tenant": Principal("boss", tenant="acme", role="admin", keyed=True),
    "Bearer org": Principal("boss", org="acme", role="admin", keyed=True),
    "Bearer reads": Principal("ann", role="auditor", keyed=True),
    "Bearer asks": Principal("bot", keyed=True),
}


async def by_key(headers) -> Principal:
    found = KEYS.get(headers.get("authorization", ""))
    if found is None:
        raise InvalidApiKey("That key is not valid.")
    return found


async def everybody(_) -> Principal:
    return Principal()


def taken(_: Any) -> bool:
    """A record that is kept."""
    return True


def client(
    file: Path,
    identify=by_key,
    base: str = "http://127.0.0.1:8080",
    peer: str = "127.0.0.1",
    keep: Callable[[Any], bool] = taken,
    **headers: str,
) -> httpx.AsyncClient:
    app = FastAPI()
    kill = Kill({"file": KillFile(file)}, Metrics(), configured=False)
    app.include_router(routes.routes(kill, identify, keep))
    transport = httpx.ASGITransport(app, client=(peer, 50000))
    return httpx.AsyncClient(transport=transport, base_url=base, headers=headers)


async def test_an_admin_turns_it_and_sees_how_it_stands(tmp_path: Path):
    async with client(tmp_path / "kill", authorization="Bearer admin") as http:
        told = (await http.post("/admin/kill", json={"on": True, "reason": "bad answers"})).json()
        assert told["killed"]
        assert told["sources"]["file"] == {"on": True, "reason": "bad answers"}
        assert (tmp_path / "kill").exists()
        assert (await http.get("/admin/kill")).json() == told
        assert not (await http.post("/admin/kill", json={"on": False})).json()["killed"]
        assert not (tmp_path / "kill").exists()


@pytest.mark.parametrize("kept", [True, False])
async def test_who_turned_it_or_asked_is_recorded_and_it_is_turned_all_the_same(tmp_path: Path, kept: bool):
    records: list[Any] = []

    def keep(record: Any) -> bool:
        records.append(record)
        return kept

    async with client(tmp_path / "kill", keep=keep, authorization="Bearer admin") as http:
        await http.post("/admin/kill", json={"on": True, "reason": "bad answers"})
        await http.get("/admin/kill")
        await http.get("/admin/kill", headers={"authorization": "Bearer asks"})
    assert (tmp_path / "kill").exists()
    assert [(one["kind"], one["subject"], one["read"]) for one in records] == [
        ("read", "boss", {"action": "kill", "found": 1, "filters": {"on": True, "reason": "bad answers"}}),
        ("read", "boss", {"action": "kill", "found": 1, "filters": {}}),
    ]


@pytest.mark.parametrize(
    ("key", "status"), [("reads", 403), ("asks", 403), ("tenant", 403), ("org", 403), ("wrong", 401)]
)
async def test_nobody_else_does(tmp_path: Path, key: str, status: int):
    async with client(tmp_path / "kill", authorization=f"Bearer {key}") as http:
        for answer in (await http.post("/admin/kill", json={"on": True}), await http.get("/admin/kill")):
            assert answer.status_code == status
            assert answer.json()["error"]["code"] in ("role_not_allowed", "invalid_api_key")
    assert not (tmp_path / "kill").exists()


@pytest.mark.parametrize(
    ("base", "origin", "status"),
    [("http://127.0.0.1:8080", None, 200), ("http://localhost:8080", "http://localhost:8080", 200),
     ("http://[::1]:8080", None, 200), ("http://proxy.example", None, 403), ("http://10.0.0.5:8080", None, 403),
     ("http://127.0.0.1:8080", "https://evil.example", 403), ("http://127.0.0.1:8080", "null", 403)],
)  # fmt: skip
async def test_without_keys_it_is_this_machine_s_own(tmp_path: Path, base: str, origin: str | None, status: int):
    headers: dict[str, Any] = {} if origin is None else {"origin": origin}
    async with client(tmp_path / "kill", everybody, base, **headers) as http:
        assert (await http.post("/admin/kill", json={"on": True})).status_code == status
    assert (tmp_path / "kill").exists() is (status == 200)


async def test_a_host_that_says_so_does_not_make_a_machine_this_one(tmp_path: Path):
    async with client(tmp_path / "kill", everybody, peer="203.0.113.9") as http:
        assert (await http.post("/admin/kill", json={"on": True})).status_code == 403
        assert (await http.get("/admin/kill")).status_code == 403
    assert not (tmp_path / "kill").exists()
    async with client(tmp_path / "kill", peer="203.0.113.9", authorization="Bearer admin") as http:
        assert (await http.post("/admin/kill", json={"on": True})).status_code == 200


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"on": "yes"}', b'{"on": true, "of": 1}', b'{"on": true, "reason": 5}',
             b'{"on": true, "reason": "' + b"x" * 201 + b'"}', b"x" * 5_000],
)  # fmt: skip
async def test_what_is_not_plainly_said_is_a_400(tmp_path: Path, body: bytes):
    async with client(tmp_path / "kill", authorization="Bearer admin") as http:
        answer = await http.post("/admin/kill", content=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert not (tmp_path / "kill").exists()


async def test_what_no_source_took_is_a_503_that_says_why(tmp_path: Path):
    (tmp_path / "kill").mkdir()
    async with client(tmp_path / "kill", authorization="Bearer admin") as http:
        answer = await http.post("/admin/kill", json={"on": True})
    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "kill_switch_unavailable")
    assert "file: " in error["message"]


async def test_a_source_that_did_not_take_it_is_named_beside_one_that_did(tmp_path: Path):
    (tmp_path / "dead").mkdir()
    kill = Kill({"file": KillFile(tmp_path / "kill"), "redis": KillFile(tmp_path / "dead")}, Metrics(), configured=True)
    app = FastAPI()
    app.include_router(routes.routes(kill, everybody, taken))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        told = (await http.post("/admin/kill", json={"on": False})).json()
    assert told["killed"]  # the configuration still says so
    assert "fault" in told["sources"]["redis"]
    assert "fault" not in told["sources"]["file"]
