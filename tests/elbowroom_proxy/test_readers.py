"""Who may read: two roles, each within its own; without keys this machine only, and no other site's page."""

from __future__ import annotations

import pytest
from msgspec import structs

from elbowroom.account.search import Scope
from elbowroom.errors import InvalidApiKey, OriginNotAllowed, RoleNotAllowed
from elbowroom.records import Principal
from elbowroom_proxy.readers import check_own_machine, reader, scope
from tests.records import AUDITOR

HERE, ELSEWHERE = ("127.0.0.1", 50000), ("203.0.113.9", 50000)


def always(principal: Principal):
    async def identify(headers):
        return principal

    return identify


@pytest.mark.parametrize("role", ["auditor", "admin"])
async def test_who_has_a_role_for_it_reads(role):
    principal = structs.replace(AUDITOR, role=role, tenant="acme", org="o")
    assert await reader(always(principal), {"host": "example.com"}, ELSEWHERE) is principal
    assert scope(principal) == Scope("acme", "o")


async def test_who_has_none_does_not():
    with pytest.raises(RoleNotAllowed):
        await reader(always(structs.replace(AUDITOR, role="user")), {}, HERE)


async def test_who_is_nobody_does_not():
    async def identify(headers):
        raise InvalidApiKey("no")

    with pytest.raises(InvalidApiKey):
        await reader(identify, {}, HERE)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8080"},
        {"host": "localhost"},
        {"host": "LOCALHOST:8080"},
        {"host": "[::1]:8080", "origin": "http://[::1]:8080"},
        {"host": "127.8.9.1", "origin": "http://127.8.9.1"},
    ],
)
async def test_without_keys_this_machine_reads_all(headers):
    found = await reader(always(Principal()), headers, HERE)
    assert scope(found) == Scope()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": ""},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "localhost.evil.example:8080"},
        {"host": "user@localhost@evil.example"},
        {"host": "10.0.0.5"},
        {"host": "[::1"},
        {"host": "127.0.0.1:8080", "origin": "http://evil.example"},
        {"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:9090"},
        {"host": "127.0.0.1:8080", "origin": "null"},
        {"host": "127.0.0.1:8080", "origin": "http://["},
    ],
)
async def test_without_keys_nobody_else_reads(headers):
    with pytest.raises(OriginNotAllowed):
        await reader(always(Principal()), headers, HERE)
    with pytest.raises(OriginNotAllowed):
        check_own_machine(headers, HERE)


@pytest.mark.parametrize("peer", [("127.8.9.1", 1), ("::1", 1), ("::ffff:127.0.0.1", 1)])
def test_this_machine_is_known_by_every_address_of_its_own(peer):
    check_own_machine({"host": "localhost"}, peer)


@pytest.mark.parametrize(
    "peer", [None, ELSEWHERE, ("::ffff:203.0.113.9", 1), ("2001:db8::1", 1), ("", 0), ("unix:", 0)]
)
async def test_without_keys_a_forged_host_lets_nobody_in(peer):
    with pytest.raises(OriginNotAllowed, match="A key lets others in"):
        check_own_machine({"host": "localhost:8080", "origin": "http://localhost:8080"}, peer)
    with pytest.raises(OriginNotAllowed):
        await reader(always(Principal()), {"host": "127.0.0.1"}, peer)
