"""Commands reach the server that has their keys; one that evicts is not fit."""

from __future__ import annotations

import pytest
import redis
from redis.exceptions import ConnectionError as Broken
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as Late

from elbowroom_proxy.stores.server import Server
from tests.servers import RedisServer, free_port


async def test_one_answer_a_command_errors_among_them(redis_url: str):
    server = Server(redis_url, cluster=False, timeout=5.0)
    set_, wrong, got = await server.send([("SET", "a", 1), ("INCRBY", "a", "x"), ("GET", "a")])
    assert (bool(set_), got) == (True, b"1")
    assert isinstance(wrong, ResponseError)
    await server.look()
    assert (server.looked, server.unfit, server.unsaid) == (True, None, None)
    await server.close()


async def test_an_answer_that_is_late_is_nobodys(redis_url: str):
    server = Server(redis_url, cluster=False, timeout=0.05, connections=0)
    with pytest.raises(Late):
        await server.send([("GET", "b"), ("BLPOP", "nothing", 30)])
    assert await server.send([("ECHO", "mine"), ("HGETALL", "nothing")]) == [b"mine", {}]
    await server.close()


@pytest.mark.parametrize("protocol", [2, 3])
async def test_answers_are_read_as_the_client_reads_them(redis_url: str, protocol: int):
    server = Server(f"{redis_url}?protocol={protocol}", cluster=False, timeout=5.0)
    assert (await server.send([("HSET", "h", "a", 1), ("HGETALL", "h")]))[1] == {b"a": b"1"}
    await server.close()


@pytest.mark.parametrize("cluster", [True, False])
async def test_where_there_is_none_it_is_said_and_looked_for_another_time(cluster: bool):
    server = Server(f"redis://127.0.0.1:{free_port()}/0", cluster=cluster, timeout=0.5)
    await server.look()
    assert (server.looked, server.unfit) == (False, None)
    with pytest.raises(redis.RedisError):
        await server.send([("GET", "a")])
    await server.close()


@pytest.fixture
def alone(tmp_path):
    """A cluster of one node."""
    with RedisServer("--cluster-enabled", "yes", "--dir", str(tmp_path), "--cluster-port", str(free_port())) as node:
        with redis.Redis.from_url(node.url, decode_responses=True) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            while client.cluster("INFO")["cluster_state"] != "ok":
                pass
        yield node


async def test_a_cluster_is_asked_who_it_is_once_more_when_a_node_is_gone(alone: RedisServer):
    server = Server(alone.url, cluster=True, timeout=2.0)
    await server.look()
    assert (server.looked, server.unfit) == (True, None)
    assert await server.send([("SET", "a", 1), ("GET", "a")]) == [True, b"1"]
    alone.stop()
    answers = await server.send([("GET", "a")])
    assert isinstance(answers[0], Broken)
    alone.start()
    with redis.Redis.from_url(alone.url, decode_responses=True) as client:
        while client.cluster("INFO")["cluster_state"] != "ok":
            pass
        client.config_set("maxmemory-policy", "allkeys-lru")
    assert await server.send([("GET", "a")]) == [None]
    await server.look()
    assert server.unfit == "the Redis evicts by allkeys-lru: set maxmemory-policy to noeviction"
    await server.close()
