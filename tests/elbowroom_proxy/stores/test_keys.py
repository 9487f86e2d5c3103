"""Keys are looked up in constant time, watched, and never lost by a file that is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from elbowroom.budget import orgs
from elbowroom.budget.orgs import Orgs, OrgsFile
from elbowroom.budget.rights import Rights, Written
from elbowroom.errors import InvalidApiKey, InvalidConfig
from elbowroom.read import yaml
from elbowroom.read.policy import Policy
from elbowroom.records import Principal
from elbowroom_proxy import directory
from elbowroom_proxy.directory import Directory
from elbowroom_proxy.stores.keys import AGAIN, WatchedKeys
from tests.holders import keys_text, orgs_text, row
from tests.proxy import wait_until

WRITTEN = Written(Policy(), {}, {"m"})
BOT, ANN = row("bot", "sk-eb-bot"), row("ann", "sk-eb-ann")
DIGEST = BOT["secrets"][0]["sha256"]
ANNS = ANN["secrets"][0]["sha256"]


def within(**team: object) -> Orgs:
    return orgs.read(yaml.read(orgs_text(**team), "orgs.yaml", OrgsFile), WRITTEN)


def made(*rows: dict, **team: object) -> Directory:
    return directory.read(keys_text(*rows).encode(), "keys.yaml", within(**team), WRITTEN)


def put(file: Path, text: str) -> None:
    """As the command writes it: another file, under the same name."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


async def until(true: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait_until, true)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    put(tmp_path / "keys.yaml", keys_text(BOT))
    return tmp_path / "keys.yaml"


@pytest.fixture
async def keys(file: Path) -> AsyncIterator[WatchedKeys]:
    found = WatchedKeys(made(BOT), file)
    await found.start()
    yield found
    await found.close()


def test_a_key_is_found_by_its_whole_digest():
    keys = WatchedKeys(made(BOT, ANN))
    assert keys.find(DIGEST) == Principal("bot", org="acme", team="support", keyed=True, key="bot")
    for other in (DIGEST[:-1], DIGEST.upper(), "", "ü"):
        assert keys.find(other) is None
    assert keys.closed
    assert not WatchedKeys(Directory()).closed


def test_digests_stand_where_nobody_can_tell():
    # What is compared bit by bit is keyed anew in each process: who sends keys learns nothing from how long it takes.
    first, second = WatchedKeys(made(BOT)), WatchedKeys(made(BOT))
    assert DIGEST.encode() not in b"".join(first._holders)
    assert first._holders.keys().isdisjoint(second._holders)


def test_a_key_that_was_replaced_ends_by_itself():
    now = 100.0
    old = {"sha256": ANNS, "until": "1970-01-01T00:02:00Z"}
    keys = WatchedKeys(made({**BOT, "secrets": [old, *BOT["secrets"]]}), clock=lambda: now)
    assert keys.find(ANNS) == keys.find(DIGEST)
    now = 120.0
    assert keys.find(ANNS) is None
    assert keys.find(DIGEST) is not None


def test_whom_a_request_is_charged_to_is_asked_of_the_directory_in_force():
    keys = WatchedKeys(made(BOT))
    bot = keys.find(DIGEST)
    assert bot is not None
    assert keys.account(bot) == made(BOT).account(bot)
    ann = Principal("ann", org="acme", team="support", keyed=True)
    assert keys.admitted(ann, Rights()) == ann
    keys.swap(made(ANN, tpm_limit=3))
    with pytest.raises(InvalidApiKey):
        keys.account(bot)
    assert keys.find(DIGEST) is None
    anns = keys.find(ANNS)
    assert anns is not None
    assert keys.account(anns) == made(ANN, tpm_limit=3).account(anns)


async def test_what_is_written_holds_soon(keys: WatchedKeys, file: Path):
    assert AGAIN <= 0.5  # so that a block holds within a second
    with capture_logs() as logs:
        put(file, keys_text(BOT, ANN))
        await until(lambda: keys.find(ANNS) is not None)
        was = keys.directory.digest
        put(file, keys_text({**BOT, "blocked": True}, ANN))
        await until(lambda: keys.find(DIGEST) is None)
    assert keys.find(ANNS) is not None
    assert {**logs[-1]} == {
        "event": "keys", "log_level": "info", "was": was, "now": keys.directory.digest, "keys": 2,
    }  # fmt: skip
    assert DIGEST not in str(logs)


async def test_a_change_in_place_is_seen_too(keys: WatchedKeys, file: Path):
    await until(lambda: keys._seen != (0, 0, 0))
    await asyncio.to_thread(file.write_text, keys_text(ANN))
    await until(lambda: keys.find(ANNS) is not None)


async def test_a_file_that_is_wrong_or_gone_leaves_the_last_good_one(keys: WatchedKeys, file: Path):
    kept = keys.directory.digest
    with capture_logs() as logs:
        put(file, "keys: 7")
        await until(lambda: len(logs) == 1)
        await asyncio.to_thread(file.unlink)
        await until(lambda: len(logs) == 2)
        for one in logs:
            assert (one["event"], one["log_level"], one["kept"]) == ("keys", "error", kept)
        assert keys.find(DIGEST) is not None
        assert logs[-1]["fault"].endswith("keys.yaml:1: the file is gone; the keys that stood in it stay in force")
        put(file, keys_text(ANN))
        await until(lambda: keys.find(ANNS) is not None)
    assert [one["log_level"] for one in logs] == ["error", "error", "info"]


async def test_limits_that_could_not_be_kept_let_nobody_in(file: Path):
    def fits(found: Directory) -> None:
        if any(account.limited for account in found.accounts):
            raise InvalidConfig("the ledger forgets")

    keys = WatchedKeys(made(BOT), file, fits=fits)
    await keys.start()
    with capture_logs() as logs:
        put(file, keys_text(BOT, {**ANN, "max_parallel_requests": 1}))
        await until(lambda: any(one["event"] == "keys" for one in logs))
    with pytest.raises(InvalidConfig, match="forgets"):
        keys.swap(made(ANN, tpm_limit=3))
    assert (logs[0]["fault"], keys.find(ANNS)) == ("the ledger forgets", None)
    assert keys.find(DIGEST) is not None
    await keys.close()


async def test_nothing_ends_the_watch(keys: WatchedKeys, file: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> Directory:
        raise RuntimeError("nobody foresaw it")

    with capture_logs() as logs, monkeypatch.context() as patched:
        patched.setattr(directory, "read", broken)
        put(file, keys_text(ANN))
        await until(lambda: any(one["event"] == "unforeseen" for one in logs))
    assert keys.find(DIGEST) is not None
    await until(lambda: keys.find(ANNS) is not None)


async def test_the_first_keys_end_the_open_mode(tmp_path: Path):
    keys = WatchedKeys(Directory(within(), WRITTEN), tmp_path / "keys.yaml")
    await keys.start()
    assert not keys.closed
    put(tmp_path / "keys.yaml", keys_text(BOT))
    await until(lambda: keys.closed)
    assert keys.find(DIGEST) is not None
    await keys.close()
    with pytest.raises(InvalidConfig, match="stay in force"):
        keys.swap(Directory(within(), WRITTEN))
    assert keys.closed


async def test_other_organisations_are_swapped_in_and_the_file_is_looked_at_again(keys: WatchedKeys, file: Path):
    await until(lambda: keys._seen != (0, 0, 0))
    put(file, keys_text(BOT, ANN))
    keys.swap(made(BOT, max_tokens=5))  # read before the file was changed
    await until(lambda: keys.find(ANNS) is not None)
    anns = keys.find(ANNS)
    assert anns is not None
    account = keys.account(anns)
    assert account is not None
    assert account.entities[1].limits.tokens == 5


async def test_what_was_read_within_organisations_that_are_gone_is_read_again(
    keys: WatchedKeys, file: Path, monkeypatch: pytest.MonkeyPatch
):
    await until(lambda: keys._seen != (0, 0, 0))
    read = directory.read
    swapped = False

    def slow(text: bytes | None, name: str, found: Orgs, written: Written) -> Directory:
        nonlocal swapped
        value = read(text, name, found, written)
        if not swapped:  # while it was read, others came into force
            swapped = True
            keys._swap(made(BOT, max_tokens=5))
        return value

    monkeypatch.setattr(directory, "read", slow)
    put(file, keys_text(BOT, ANN))
    await until(lambda: keys.find(ANNS) is not None)
    assert keys.directory.orgs == within(max_tokens=5)


async def test_without_a_file_nothing_is_watched():
    keys = WatchedKeys(made(BOT))
    await keys.start()
    await keys.close()
    assert keys.find(DIGEST) is not None
    alone = WatchedKeys(Directory(), Path("none"))
    await alone.start()
    await until(lambda: alone._seen is None)
    await alone.close()
