"""A script is its file, and is known by what is in it."""

from __future__ import annotations

import re

import pytest
import redis

from elbowroom_proxy.stores.scripts import Script, script

NAMES = ("hold", "over", "renew", "probe")


@pytest.mark.parametrize("name", NAMES)
def test_a_server_calls_it_what_we_call_it(name: str, redis_url: str):
    found = script(name)
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        assert client.script_load(found.text.decode()) == found.sha


def test_another_text_is_another_script():
    assert Script.of(b"return 1").sha != Script.of(b"return 2").sha


def test_it_is_called_by_its_name_or_whole():
    some = Script.of(b"return 1")
    known = some.known(("a", "b"), (1, b"x"))
    assert known == ("EVALSHA", some.sha, 2, "a", "b", 1, b"x")
    assert some.whole(known) == ("EVAL", b"return 1", 2, "a", "b", 1, b"x")


@pytest.mark.parametrize("name", NAMES)
def test_what_gives_room_back_works_without_memory_and_what_takes_it_does_not(name: str):
    first = script(name).text.splitlines()[0]
    assert first == (b"#!lua" if name in {"hold", "probe"} else b"#!lua flags=allow-oom")


@pytest.mark.parametrize("name", NAMES)
def test_no_key_is_put_together_in_a_script(name: str):
    # A cluster must be told of every key beforehand.
    code = re.sub(r"--.*", "", script(name).text.decode())
    named = re.findall(r"redis\.call\(\s*'[A-Z]+',\s*([^,)]+)", code)
    assert set(named) <= {"KEYS[1]", "KEYS[2]", "KEYS[3]", "live", "sums", "found.live", "found.sums"}
