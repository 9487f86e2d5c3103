"""What only a ledger in Redis can meet: a server that is gone, frozen, full, emptied, evicting, or without scripts.

What all ledgers do is in tests/contract/test_ledgers.py.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest
import redis
from redis.crc import key_slot

from elbowroom.budget.hold import Amounts, Denied, Granted, Held, Hold, Settled
from elbowroom.budget.limits import Account, Limits
from elbowroom.budget.sums import KEPT, SETTLED, TOMBSTONE
from elbowroom.errors import InvalidConfig, LedgerUnavailable
from elbowroom_proxy.ledgerconfig import Ledger as Row
from elbowroom_proxy.stores.ledger_redis import RedisLedger, build
from elbowroom_proxy.stores.levels import Lines, prefix
from elbowroom_proxy.stores.scripts import Script, script
from tests.ledgers import account
from tests.servers import RedisServer, free_port

PATIENT = 20.0  # seconds, where a test is not about them: a busy machine is no fault
TIMEOUT = 1.0  # where it is
ACCOUNT = account(Limits(rpm=10_000, tokens=1_000), Limits(parallel=900), Limits(micro_usd=10**9, period="1d"))


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A server of the test's own."""
    with RedisServer() as server:
        yield server


@pytest.fixture
async def ledger(server: RedisServer) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger(server.url, timeout=PATIENT, pause=0.05)
    await ledger.start()
    yield ledger
    await ledger.close()


@pytest.fixture
async def hasty(server: RedisServer) -> AsyncIterator[RedisLedger]:
    ledger = RedisLedger(server.url, timeout=TIMEOUT, pause=0.05)
    await ledger.start()
    await until(ledger.healthy)
    yield ledger
    await ledger.close()


async def hold(ledger: RedisLedger, ident: str, tokens: int = 1, who: Account = ACCOUNT, seconds: float = 60) -> Held:
    return await ledger.hold(Hold(ident, who, Amounts(tokens, tokens, tokens)), seconds=seconds)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Asks again and again; the run's own limit ends it where it never is."""
    for _ in count():
        if await true():
            return
        await asyncio.sleep(0.01)


async def kept(ledger: RedisLedger, who: Account = ACCOUNT) -> tuple[int, int, int]:
    """Spent and held tokens and open requests of the organisation."""
    level = (await ledger.sums(who))[0]
    return level.spent.tokens, level.held.tokens, level.open


def client(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


# --- a server that does not answer ------------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_is_said_to_be_and_costs_one_attempt():
    ledger = build(Row(store="redis", url=f"redis://127.0.0.1:{free_port()}/0", timeout=TIMEOUT))
    await ledger.start()
    with pytest.raises(LedgerUnavailable):
        await hold(ledger, "a")
    asked = ledger._commands.commands
    for call in (
        hold(ledger, "b"),
        ledger.settle("a", ACCOUNT, Amounts(1)),
        ledger.sums(ACCOUNT),
        ledger.sweep("acme"),
    ):
        with pytest.raises(LedgerUnavailable):
            await call
    assert ledger._commands.commands - asked <= 1  # a release that is owed
    assert ledger.faults() == ("it cannot be reached",)
    assert not await ledger.healthy()
    await ledger.close()


async def test_it_comes_back_with_the_server_and_says_that_the_sums_are_lost(ledger: RedisLedger, server: RedisServer):
    await hold(ledger, "a", 10)
    server.stop()
    with pytest.raises(LedgerUnavailable):
        await hold(ledger, "b", 10)
    server.start()
    assert await ledger.healthy()
    assert isinstance(await hold(ledger, "c", 10), Granted)
    assert ledger.faults() == ("the sums of acme were lost; `elbowroom budgets rebuild` restores them",)
    # What was held before is charged all the same, in its own period.
    assert await ledger.settle("a", ACCOUNT, Amounts(7)) == Settled("unknown")
    await ledger.rebuild(ACCOUNT, [Amounts(100), Amounts(100), Amounts(100)])
    await hold(ledger, "d", 10)
    assert ledger.faults() == ()
    assert await kept(ledger) == (100, 20, 2)


async def test_a_frozen_server_keeps_nobody_longer_than_the_timeout(hasty: RedisLedger, server: RedisServer):
    await hold(hasty, "before")
    os.kill(server.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        calls = [hold(hasty, f"{n}") for n in range(20)]
        calls += [hasty.settle("before", ACCOUNT, Amounts(1)), hasty.sums(ACCOUNT)]  # type: ignore[list-item]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert time.monotonic() - began < 3 * TIMEOUT
        assert {type(one).__mro__[1] for one in answers} == {LedgerUnavailable}
    finally:
        os.kill(server.pid, signal.SIGCONT)
    await until(hasty.healthy)
    assert await hasty.settle("before", ACCOUNT, Amounts(1)) in {Settled("settled"), Settled("again")}
    for n in range(100, 120):
        limits = account(Limits(tokens=n), org=f"org{n}")
        assert (await hold(hasty, "x", 1, limits)).standing[0].most == n

    async def nothing_owed() -> bool:
        return not len(hasty._owed)

    await until(nothing_owed)
    assert await kept(hasty) == (1, 0, 0)


async def test_what_a_frozen_server_was_told_it_does_not_do_later(
    hasty: RedisLedger, server: RedisServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hasty._owed, "add", lambda *_: None)  # nobody releases it
    await hold(hasty, "before")

    def done() -> int:
        with client(server) as asked:
            return int(asked.info("commandstats")["cmdstat_evalsha"]["calls"])

    before = done()
    os.kill(server.pid, signal.SIGSTOP)
    with pytest.raises(LedgerUnavailable):
        await hold(hasty, "late", 100)
    os.kill(server.pid, signal.SIGCONT)

    async def it_was_run() -> bool:
        return await asyncio.to_thread(done) > before

    await until(it_was_run)
    with client(server) as asked:
        assert asked.zrange(f"{prefix('acme')}open", 0, -1) == ["before"]


async def test_a_hold_that_arrives_after_its_release_holds_nothing(ledger: RedisLedger, server: RedisServer):
    # As where the hold lay in the buffer of one connection and the release came on another.
    await ledger.release("a", ACCOUNT)
    with pytest.raises(ValueError, match="over"):
        await hold(ledger, "a")
    assert await kept(ledger) == (0, 0, 0)


async def test_a_clock_far_from_the_servers_is_put_right_by_its_answer(server: RedisServer):
    for ahead in (-90 * 86_400, 90 * 86_400):
        ledger = RedisLedger(server.url, timeout=PATIENT, clock=lambda ahead=ahead: time.time() + ahead)  # type: ignore[misc]
        await ledger.start()
        granted = await hold(ledger, f"a{ahead}")
        assert isinstance(granted, Granted)
        assert abs(ledger._now() - time.time()) < 10
        await ledger.release(f"a{ahead}", ACCOUNT)
        assert await kept(ledger) == (0, 0, 0)
        await ledger.close()


# --- who goes away ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["hold", "settle", "renew", "release", "sweep", "sums", "healthy"])
async def test_whoever_is_cancelled_at_any_await_leaves_no_answer_to_another(ledger: RedisLedger, call: str):
    for turns in count():
        ident = f"h{turns}"
        if call in {"settle", "renew", "release"}:
            await hold(ledger, ident)
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "hold": lambda ident=ident: hold(ledger, ident),  # type: ignore[misc]
            "settle": lambda ident=ident: ledger.settle(ident, ACCOUNT, Amounts(0)),  # type: ignore[misc]
            "renew": lambda ident=ident: ledger.renew(ident, ACCOUNT, seconds=1),  # type: ignore[misc]
            "release": lambda ident=ident: ledger.release(ident, ACCOUNT),  # type: ignore[misc]
            "sweep": lambda: ledger.sweep("acme"),
            "sums": lambda: ledger.sums(ACCOUNT),
            "healthy": ledger.healthy,
        }
        task = asyncio.ensure_future(calls[call]())
        beside = account(Limits(tokens=5 + turns), org=f"beside{turns}")
        other = asyncio.ensure_future(hold(ledger, "x", 1, beside))
        for _ in range(turns):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        after = account(Limits(tokens=5 + turns), org=f"after{turns}")
        for who, answer in ((beside, await other), (after, await hold(ledger, "x", 1, after))):
            assert [(one.entity, one.most, one.held) for one in answer.standing] == [(who.org, 5 + turns, 1)]
        await ledger.release(ident, ACCOUNT)
        if ended:
            break
    assert turns > 3

    async def nothing_owed() -> bool:
        return not len(ledger._owed)

    await until(nothing_owed)
    assert await kept(ledger) == (0, 0, 0)


async def test_who_is_cancelled_before_anything_was_sent_sends_nothing(ledger: RedisLedger):
    await ledger.release("before", ACCOUNT)
    task = asyncio.ensure_future(hold(ledger, "a"))
    await asyncio.sleep(0)
    asked = ledger._commands.commands
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await ledger._owed.close()
    assert ledger._commands.commands - asked == 2  # the release: whose lines, and itself
    assert await kept(ledger) == (0, 0, 0)


# --- a server that will not -------------------------------------------------------------------------------------------


async def test_without_memory_nothing_is_held_and_everything_is_settled(ledger: RedisLedger, server: RedisServer):
    for ident in ("settled", "released", "renewed", "swept"):
        await hold(ledger, ident, 10, seconds=0 if ident == "swept" else 60)
    with client(server) as asked:
        asked.config_set("maxmemory", 1)
        with pytest.raises(LedgerUnavailable, match="declines: OutOfMemoryError"):
            await hold(ledger, "more")
        assert ledger.faults()[0].startswith("it declines: OutOfMemoryError")
        assert await ledger.settle("settled", ACCOUNT, Amounts(8)) == Settled("settled")
        await ledger.release("released", ACCOUNT)
        assert await ledger.renew("renewed", ACCOUNT, seconds=60)
        assert [one.id for one in await ledger.sweep("acme")] == ["swept"]
        assert await kept(ledger) == (18, 10, 1)
        asked.config_set("maxmemory", 0)
    assert isinstance(await hold(ledger, "more"), Granted)
    assert ledger.faults() == ()


async def test_a_server_that_forgot_its_scripts_is_told_them_again(ledger: RedisLedger, server: RedisServer):
    await hold(ledger, "a", 5)
    with client(server) as asked:
        asked.script_flush()
    answers = await asyncio.gather(
        *(hold(ledger, f"b{n}", 5) for n in range(9)), ledger.settle("a", ACCOUNT, Amounts(3))
    )
    assert all(isinstance(one, Granted) for one in answers[:-1])
    assert answers[-1] == Settled("settled")
    assert await kept(ledger) == (3, 45, 9)


async def test_a_server_without_scripts_is_a_ledger_that_is_down(ledger: RedisLedger, server: RedisServer):
    with client(server) as asked:
        asked.execute_command("ACL", "SETUSER", "default", "-@scripting")
        with pytest.raises(LedgerUnavailable, match="declines: NoPermissionError"):
            await hold(ledger, "a")
        assert "permissions" in ledger.faults()[0]
        asked.execute_command("ACL", "SETUSER", "default", "+@scripting")
    assert isinstance(await hold(ledger, "a"), Granted)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
async def test_a_server_that_evicts_is_refused(server: RedisServer, policy: str):
    with client(server) as asked:
        asked.config_set("maxmemory-policy", policy)
    ledger = RedisLedger(server.url, timeout=TIMEOUT)
    with pytest.raises(InvalidConfig, match=f"evicts by {policy}: set maxmemory-policy to noeviction"):
        await ledger.start()
    with pytest.raises(LedgerUnavailable, match="evicts"):
        await hold(ledger, "a")
    assert not await ledger.healthy()
    await ledger.close()


async def test_one_that_turns_out_to_evict_once_it_is_there_is_refused_then(server: RedisServer):
    server.stop()
    ledger = RedisLedger(server.url, timeout=TIMEOUT, pause=0.01)
    await ledger.start()
    server.start()
    with client(server) as asked:
        asked.config_set("maxmemory-policy", "allkeys-random")

    async def refused() -> bool:
        with suppress(LedgerUnavailable):
            await hold(ledger, "a")
        return any("evicts by allkeys-random" in one for one in ledger.faults())

    await until(refused)
    await ledger.close()


async def test_one_that_will_not_say_whether_it_evicts_is_used_and_that_is_said(server: RedisServer):
    with client(server) as asked:
        asked.execute_command("ACL", "SETUSER", "default", "-config")
    ledger = RedisLedger(server.url, timeout=PATIENT)
    await ledger.start()
    assert isinstance(await hold(ledger, "a"), Granted)
    assert ledger.faults() == ("whether it evicts cannot be told: NoPermissionError",)
    await ledger.close()


# --- what is kept -----------------------------------------------------------------------------------------------------


async def test_everything_of_one_organisation_is_in_one_slot_and_of_one_version(
    ledger: RedisLedger, server: RedisServer
):
    await hold(ledger, "a", 5)
    await hold(ledger, "b", 5)
    await ledger.settle("a", ACCOUNT, Amounts(5))
    with client(server) as asked:
        keys = asked.keys("*")
        assert len(keys) == 2 + 2 * 3 + 2  # epoch and open holds, two a level, two holds
        assert {key.split("}")[0] for key in keys} == {"eb:ldg:1:{acme"}
        assert len({key_slot(key.encode()) for key in keys}) == 1


async def test_keys_go_when_nobody_can_need_them_any_more(ledger: RedisLedger, server: RedisServer):
    await hold(ledger, "settled", seconds=500)
    await ledger.settle("settled", ACCOUNT, Amounts(1))
    await hold(ledger, "swept", seconds=0)
    await ledger.sweep("acme")
    await hold(ledger, "open")
    sums = (await ledger.sums(ACCOUNT))[2]
    with client(server) as asked:
        place = prefix("acme")
        assert SETTLED + 400 < asked.ttl(f"{place}h:settled") <= SETTLED + 500
        assert TOMBSTONE - 100 < asked.ttl(f"{place}h:swept") <= TOMBSTONE
        assert asked.ttl(f"{place}h:open") == -1  # until it is over, whenever that is
        assert KEPT - 100 < asked.ttl(f"{place}l:k:acme/support/bot") <= KEPT
        assert asked.expiretime(f"{place}s:k:acme/support/bot:1d:{sums.start}") == sums.end + KEPT


async def test_holds_whose_sums_are_gone_end_without_a_trace(ledger: RedisLedger, server: RedisServer):
    for ident in ("a", "b", "c"):
        await hold(ledger, ident, 5, seconds=0)
    ledger._lines.clear()  # another process made them
    with client(server) as asked:
        asked.delete(*asked.keys("*:s:*"), *asked.keys("*:l:*"))
        await ledger.settle("a", ACCOUNT, Amounts(5))
        await ledger.release("b", ACCOUNT)
        assert [one.id for one in await ledger.sweep("acme")] == ["c"]
        assert asked.keys("*:s:*") == asked.keys("*:l:*") == []
    assert ledger.faults() == ()


async def test_a_counter_that_has_less_than_it_should_is_an_alarm(ledger: RedisLedger, server: RedisServer):
    await hold(ledger, "a", 5)
    with client(server) as asked:
        for key in asked.keys("*:s:*"):
            asked.hset(key, "ht", 4)
    await ledger.settle("a", ACCOUNT, Amounts(5))
    assert await kept(ledger) == (5, 0, 0)
    assert "less was held than its holds came to" in ledger.faults()[0]


async def test_a_hold_of_a_lost_record_is_not_swept_for_ever(ledger: RedisLedger, server: RedisServer):
    await hold(ledger, "a", seconds=0)
    with client(server) as asked:
        asked.delete(f"{prefix('acme')}h:a")
        assert await ledger.sweep("acme") == []
        assert asked.zcard(f"{prefix('acme')}open") == 0


async def test_what_one_process_held_another_settles(ledger: RedisLedger, server: RedisServer):
    other = RedisLedger(server.url, timeout=PATIENT)
    await hold(ledger, "a", 5)
    assert await other.renew("a", ACCOUNT, seconds=9)
    assert await other.settle("a", ACCOUNT, Amounts(4)) == Settled("settled")
    assert await ledger.settle("a", ACCOUNT, Amounts(4)) == Settled("again")
    assert await kept(other) == (4, 0, 0)
    await other.close()


async def test_two_versions_of_the_scripts_share_one_server(ledger: RedisLedger, server: RedisServer):
    def later(name: str) -> Script:
        return Script.of(script(name).text + b"\n-- another version\n")

    newer = RedisLedger(server.url, timeout=PATIENT, scripts=later)
    assert newer._hold.sha != ledger._hold.sha
    await hold(ledger, "a", 600)
    assert isinstance(await hold(newer, "b", 600), Denied)
    assert await newer.settle("a", ACCOUNT, Amounts(100)) == Settled("settled")
    assert isinstance(await hold(newer, "c", 600), Granted)
    await newer.close()


async def test_a_new_ledger_says_that_its_sums_begin(ledger: RedisLedger, capsys: pytest.CaptureFixture[str]):
    await hold(ledger, "a")
    await hold(ledger, "b")
    assert capsys.readouterr().out.count("ledger_begins") == 1


async def test_only_so_much_is_remembered(ledger: RedisLedger, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("elbowroom_proxy.stores.ledger_redis.REMEMBERED", 2)
    monkeypatch.setattr("elbowroom_proxy.stores.ledger_redis.ACCOUNTS", 2)
    for n in range(5):
        await hold(ledger, f"{n}", 1, account(Limits(), org=f"org{n}"))
    assert (len(ledger._lines), len(ledger._levels)) == (2, 1)
    assert await ledger.settle("0", account(Limits(), org="org0"), Amounts(1)) == Settled("settled")


# --- a cluster --------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RedisServer]]:
    """Three nodes that share the slots."""
    nodes = [
        RedisServer(
            "--cluster-enabled",
            "yes",
            "--dir",
            str(tmp_path_factory.mktemp("node")),
            "--cluster-port",
            str(free_port()),
        )
        for _ in range(3)
    ]
    try:
        for node in nodes:
            node.start()
        clients = [client(node) for node in nodes]
        for number, one in enumerate(clients):
            first, last = (number * 16384 // 3, (number + 1) * 16384 // 3 - 1)
            one.execute_command("CLUSTER ADDSLOTSRANGE", first, last)
            one.execute_command("CLUSTER MEET", "127.0.0.1", nodes[0].port, nodes[0].command[-1])
        while any(one.cluster("INFO")["cluster_state"] != "ok" for one in clients):
            time.sleep(0.02)
        for one in clients:
            one.close()
        yield nodes
    finally:
        for node in nodes:
            with suppress(AssertionError):
                node.stop()


async def test_a_cluster_keeps_each_organisation_on_one_node(cluster: list[RedisServer]):
    ledger = RedisLedger(cluster[0].url, cluster=True, timeout=PATIENT, pause=0.05)
    await ledger.start()
    accounts = [account(Limits(tokens=300), Limits(rpm=90), Limits(), org=f"org{n}") for n in range(12)]
    holds = [hold(ledger, f"{who.org}-{n}", 100, who) for who in accounts for n in range(5)]
    answers = await asyncio.gather(*holds)
    assert sum(isinstance(one, Granted) for one in answers) == 12 * 3
    for who in accounts:
        assert await ledger.settle(f"{who.org}-0", who, Amounts(40)) == Settled("settled")
        assert await ledger.renew(f"{who.org}-1", who, seconds=0)
        assert [one.id for one in await ledger.sweep(who.org)] == [f"{who.org}-1"]
        await ledger.rebuild(who, [Amounts(9)] * 3)
        assert await kept(ledger, who) == (9, 100, 1)
    held = []
    for node in cluster:
        with client(node) as asked:
            held.append({key.split("}")[0] for key in asked.keys("*")})
            asked.script_flush()
    assert all(held)
    assert sum(map(len, held)) == len(set.union(*held)) == 12
    assert await ledger.healthy()
    assert isinstance(await hold(ledger, "again", 100, accounts[0]), Granted)
    assert ledger.faults() == ()
    await ledger.close()


async def test_a_cluster_whose_slots_move_is_followed(cluster: list[RedisServer]):
    ledger = RedisLedger(cluster[0].url, cluster=True, timeout=PATIENT, pause=0.05)
    await ledger.start()
    await hold(ledger, "a", 1)
    with client(cluster[0]) as asked:
        slot = asked.execute_command("CLUSTER KEYSLOT", f"{prefix('acme')}open")
    owner = slot * 3 // 16384
    clients = [client(node) for node in cluster]
    target = clients[(owner + 1) % 3]
    for key in clients[owner].keys("*"):
        clients[owner].delete(key)
    ident = target.execute_command("CLUSTER MYID")
    for one in clients:
        one.execute_command("CLUSTER SETSLOT", slot, "NODE", ident)

    async def held() -> bool:
        with suppress(LedgerUnavailable):
            return isinstance(await hold(ledger, "b", 1), Granted)
        return False

    await until(held)
    assert target.exists(f"{prefix('acme')}h:b")
    for one in clients:
        one.close()
    await ledger.close()


# --- tries ------------------------------------------------------------------------------------------------------------


async def test_a_hold_that_is_not_the_one_we_knew_ends_where_it_was_made(ledger: RedisLedger):
    await hold(ledger, "a", 5)
    ledger._lines["a"] = Lines(("eb:ldg:1:{acme}:l:x", "eb:ldg:1:{acme}:s:x"), (0,))
    assert await ledger.settle("a", ACCOUNT, Amounts(3)) == Settled("settled")
    assert await kept(ledger) == (3, 0, 0)


async def test_a_hold_whose_levels_nobody_can_tell_is_not_ended(ledger: RedisLedger, monkeypatch: pytest.MonkeyPatch):
    await hold(ledger, "a", 5)

    async def wrong(*_: object) -> Lines:
        return Lines((), ())

    ledger._lines.clear()
    monkeypatch.setattr(ledger, "_read", wrong)
    with pytest.raises(LedgerUnavailable, match="faster than it can be read"):
        await ledger.settle("a", ACCOUNT, Amounts(3))
    assert await kept(ledger) == (0, 5, 1)


async def test_clocks_that_never_agree_hold_nothing(server: RedisServer):
    never = Script.of(b"#!lua\nreturn {'clock', 1}")
    ledger = RedisLedger(server.url, timeout=PATIENT, scripts=lambda name: never if name == "hold" else script(name))
    with pytest.raises(LedgerUnavailable, match="cannot be brought together"):
        await hold(ledger, "a")
    await ledger.close()


async def test_a_second_try_has_only_the_time_that_is_left(hasty: RedisLedger, monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []

    async def late_then_never(*words: object) -> list[object]:
        asked.append(words)
        if len(asked) == 1:
            await asyncio.sleep(TIMEOUT / 10)
            return [b"late", round(time.time() * 1e6)]
        await asyncio.Event().wait()
        return []

    owed: list[object] = []
    monkeypatch.setattr(hasty._commands, "ask", late_then_never)
    monkeypatch.setattr(hasty._owed, "add", lambda *what: owed.append(what))
    with pytest.raises(LedgerUnavailable, match="in time"):
        await hold(hasty, "a")
    assert len(asked) == 2
    assert owed == [("a", ACCOUNT, 60)]
