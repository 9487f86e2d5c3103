"""The servers that other tests stand on do start, stop and start again."""

from __future__ import annotations

import sys

import pytest
import redis

from tests.servers import Process, RedisServer, redis_binary


def test_a_redis_is_empty_and_real(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.keys() == []
        client.set("a", 1)
        assert client.get("a") == b"1"


def test_the_next_test_finds_it_empty_again(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


def test_a_redis_stopped_and_started_keeps_its_address():
    server = RedisServer().start()
    url = server.url
    assert server.stop() == 0
    with redis.Redis.from_url(url) as client, pytest.raises(redis.ConnectionError):
        client.ping()
    with server, redis.Redis.from_url(url) as client:
        assert client.ping()
    assert server.url == url


def test_a_server_that_dies_at_once_says_why():
    with pytest.raises(RuntimeError, match="did not get ready:\nno such luck"):
        Process([sys.executable, "-c", "print('no such luck')"], "ready").start()


def test_in_ci_only_the_real_server_will_do(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    assert redis_binary().endswith("valkey-server")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(RuntimeError, match="redis-server"):
        redis_binary()
